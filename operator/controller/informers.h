// The informers that fill the caches, and wake a job when its objects change.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "operator/controller/caches.h"
#include "operator/runtime/informer.h"

namespace espalier::ctl::controller {

struct InformersOptions {
  std::string name_space;   // "": all
  bool kueue = false;       // watch Workloads of Kueue too
  bool pod_groups = false;  // watch PodGroups too
  // Each watch lasts a random time between these two; `seed` is the seed of the random numbers.
  std::chrono::seconds min_watch{45};
  std::chrono::seconds max_watch{75};
  uint64_t seed = 0;
};

struct ChangeHandlers {
  // Called when a DistTraining or one of its children was added, changed or removed, except if only status.progress was
  // changed. Must not block.
  std::function<void(const kube::ObjectKey& job)> wake;
  // Called for each change of a DistTraining. `before` is null if it was added, `after` is null if it was removed.
  std::function<void(const TrainingRecord* before, const TrainingRecord* after)> training_changed;
};

// Thread-safe. `client`, `caches`, `metrics` and `clock` must outlive it.
class Informers {
 public:
  Informers(client::ApiClient& client, const InformersOptions& options, Caches& caches, ChangeHandlers handlers,
            telemetry::MetricRegistry& metrics, Clock& clock = Clock::Real());
  ~Informers();

  void Start();
  void Stop();
  // Blocks until all kinds are listed. At the deadline, returns DeadlineExceeded, which names the missing kinds and
  // their errors. For kinds that a cluster may lack (Kueue's Workloads, PodGroups), waits only until the first list
  // succeeds or fails.
  Status WaitForSync(Deadline deadline);
  // Returns why a watched kind has not been listed yet, or "" if it has been listed or is not watched.
  std::string ListError(const kube::Resource& resource) const;
  // Returns whether the last list or watch of a watched kind returned NotFound: the API server does not serve the kind.
  // The informer tries again after at most 30 s.
  bool IsMissing(const kube::Resource& resource) const;
  // Returns the newest resourceVersion seen of that kind; "" for a kind that is not watched.
  std::string SeenVersion(const kube::Resource& resource) const;

 private:
  struct Kind {
    const kube::Resource* resource = nullptr;
    std::unique_ptr<runtime::ObjectSink> sink;
    std::unique_ptr<runtime::Informer> informer;
  };
  std::vector<Kind> kinds_;
};

}  // namespace espalier::ctl::controller
