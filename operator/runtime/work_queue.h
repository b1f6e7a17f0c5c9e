// Keys that want to be looked at, each at most once at a time (client-go's workqueue): a key added while it is being
// processed is processed once more afterwards; failures come back with growing delays, and all keys together at a
// bounded rate.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "operator/client/token_bucket.h"
#include "operator/kube/resource.h"
#include "operator/runtime/metrics.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/philox.h"

namespace espalier::ctl::runtime {

struct WorkQueueOptions {
  std::string name = "disttraining";
  std::chrono::milliseconds first_delay{5};  // of a failed key, doubled each time; jittered down to half
  std::chrono::milliseconds max_delay{std::chrono::seconds(1000)};
  double qps = 10;  // of failed keys together
  double burst = 100;
};

// workqueue_depth, workqueue_adds_total, workqueue_queue_duration_seconds, workqueue_work_duration_seconds,
// workqueue_retries_total, workqueue_unfinished_work_seconds, workqueue_longest_running_processor_seconds {name}.
//
// Thread-safe. `metrics` and `clock` outlive it.
class WorkQueue {
 public:
  using Key = kube::ObjectKey;
  WorkQueue(WorkQueueOptions options, telemetry::MetricRegistry& metrics, Clock& clock = Clock::Real());

  void Add(const Key& key);                                       // ordinary events
  void AddAfter(const Key& key, std::chrono::nanoseconds delay);  // the earliest of several counts
  void AddRateLimited(const Key& key);                            // after a failure
  void Forget(const Key& key);                                    // after a success: the next failure waits first_delay
  // The next key, to be followed by Done; nullopt after Shutdown (at once: what waits is dropped), or at the deadline.
  std::optional<Key> Get(Deadline deadline);
  void Done(const Key& key);
  void Shutdown();
  bool is_shut_down() const;
  size_t depth() const;  // keys that Get would return
  const std::string& name() const { return options_.name; }

 private:
  void AddLocked(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddAfterLocked(const Key& key, std::chrono::nanoseconds delay) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeReady(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Key TakeReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MeasureWorkUnderWay();

  const WorkQueueOptions options_;
  Clock& clock_;
  WorkQueueMetrics metrics_;    // thread-safe
  client::TokenBucket bucket_;  // thread-safe

  mutable Mutex mutex_;
  bool is_shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t num_changes_ ABSL_GUARDED_BY(mutex_) = 0;  // of what Get waits for
  PhiloxStream jitter_ ABSL_GUARDED_BY(mutex_);
  std::deque<Key> ready_ ABSL_GUARDED_BY(mutex_);
  // Keys to be processed (again), since when: those of ready_, and those added while they are in processing_.
  std::map<Key, SteadyTime> dirty_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, SteadyTime> processing_ ABSL_GUARDED_BY(mutex_);  // since when
  std::map<Key, SteadyTime> delayed_ ABSL_GUARDED_BY(mutex_);     // until when
  std::set<std::pair<SteadyTime, Key>> delayed_by_time_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, int> num_failures_ ABSL_GUARDED_BY(mutex_);

  std::shared_ptr<void> measuring_;  // last: ends before what it looks at
};

}  // namespace espalier::ctl::runtime
