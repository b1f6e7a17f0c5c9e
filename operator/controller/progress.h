// How far trainings are, asked of rank 0 itself and written into status.progress by a field manager of its own. Best
// effort: nothing else depends on it, and what cannot be asked is left as it was.
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
  std::chrono::seconds interval{10};        // between two questions to a job
  std::chrono::seconds write_interval{15};  // at least, between two writes for a job
  std::chrono::milliseconds question_timeout{2000};
  int num_threads = 4;
};

// What a trainer's /status says. InvalidArgument for anything that does not come from this job's incarnation: an
// address may belong to another pod by now.
Result<api::Progress> ParseProgress(std::string_view body, const TrainingRecord& training, kube::WallTime now);

// The pod of rank 0 of the job's incarnation while it runs; null.
std::shared_ptr<const kube::Pod> RankZero(const Caches& caches, const TrainingRecord& training);

// Thread-safe. What is given outlives it.
class ProgressPoller {
 public:
  using Fetch = std::function<Result<std::string>(const std::string& pod_ip, Deadline deadline)>;
  using WallClock = std::function<kube::WallTime()>;
  ProgressPoller(client::ApiClient& client, const Caches& caches, ControllerMetrics& metrics, ProgressOptions options,
                 WallClock wall_clock, Fetch fetch);
  ~ProgressPoller();

  void Start();
  void Stop();  // returns within question_timeout and the writes under way
  // Asks every job in training once, and returns when all have answered or failed.
  void PollOnce();

 private:
  struct Written {
    std::string uid;
    api::Progress progress;
    kube::WallTime at;
  };
  void Poll(const TrainingRecord& training);
  bool MayWrite(const TrainingRecord& training, const api::Progress& progress);
  void ForgetWrite(const kube::ObjectKey& job);
  void ForgetAllBut(const std::vector<std::shared_ptr<const TrainingRecord>>& trainings);

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

// GET http://<pod_ip>:9090/status.
Result<std::string> FetchStatus(const std::string& pod_ip, Deadline deadline);

}  // namespace espalier::ctl::controller
