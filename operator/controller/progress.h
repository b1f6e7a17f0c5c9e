// Polls rank 0 of each running job for its progress and writes it to status.progress with a separate field manager.
// Best effort: a failed poll leaves the status unchanged. The final progress does not depend on polls
// (plan/final_progress.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>

#include "operator/client/api_client.h"
#include "operator/controller/caches.h"
#include "operator/controller/metrics.h"

namespace espalier::ctl::controller {

struct ProgressOptions {
  std::chrono::seconds interval{10};        // between two polls of a job
  std::chrono::seconds write_interval{15};  // the shortest time between two writes for a job
  std::chrono::milliseconds request_timeout{2000};
  int num_threads = 4;
};

// Parses the /status document of a trainer. Returns InvalidArgument if the document does not come from the job and
// incarnation of `training` (another pod may have the address by now), or if it has no progress yet.
Result<api::Progress> ParseProgress(std::string_view body, const TrainingRecord& training, kube::WallTime now);

// Returns the pod of rank 0 of the job's incarnation if it is running, or null.
std::shared_ptr<const kube::Pod> FindRankZero(const Caches& caches, const TrainingRecord& training);

// Thread-safe. The arguments passed by reference must outlive it.
class ProgressPoller {
 public:
  using Fetch = std::function<Result<std::string>(const std::string& pod_ip, Deadline deadline)>;
  using WallClock = std::function<kube::WallTime()>;
  ProgressPoller(client::ApiClient& client, const Caches& caches, ControllerMetrics& metrics, ProgressOptions options,
                 WallClock wall_clock, Fetch fetch);
  ~ProgressPoller();

  void Start();
  void Stop();  // waits for the requests and writes that have begun
  // Polls every job in phase Training once, except jobs with a program and jobs of other controllers. Returns when all
  // requests have been answered or have failed.
  void PollOnce();

 private:
  struct Written {
    std::string uid;
    api::Progress progress;
    kube::WallTime at;
  };
  void Poll(const TrainingRecord& training);
  // Returns whether the progress should be written now, and if so, records it as written.
  bool TryBeginWrite(const TrainingRecord& training, const api::Progress& progress);
  void ForgetWrite(const kube::ObjectKey& job);
  void ForgetJobsExcept(const std::vector<std::shared_ptr<const TrainingRecord>>& trainings);

  client::ApiClient& client_;
  const Caches& caches_;
  ControllerMetrics& metrics_;
  const ProgressOptions options_;
  const WallClock wall_clock_;
  const Fetch fetch_;

  Mutex mutex_;
  std::map<kube::ObjectKey, Written> written_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

// Sends GET http://<pod_ip>:9090/status and returns the body.
Result<std::string> FetchStatus(const std::string& pod_ip, Deadline deadline);

}  // namespace espalier::ctl::controller
