// A queue of keys to reconcile (client-go's workqueue). A key is processed by one worker at a time: a key that is added
// while it is being processed is processed once more afterwards. Failed keys return with growing delays, and all of
// them together at a bounded rate.
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
  // Delay of a failed key; doubles with each further failure; jitter shortens it by at most half.
  std::chrono::milliseconds first_delay{5};
  std::chrono::milliseconds max_delay{std::chrono::seconds(1000)};
  double qps = 10;  // rate limit of all failed keys together
  double burst = 100;
};

// Metrics, with label `name`: workqueue_depth, workqueue_adds_total, workqueue_queue_duration_seconds,
// workqueue_work_duration_seconds, workqueue_retries_total, workqueue_unfinished_work_seconds,
// workqueue_longest_running_processor_seconds.
//
// Thread-safe. `metrics` and `clock` must outlive the queue.
class WorkQueue {
 public:
  using Key = kube::ObjectKey;
  WorkQueue(WorkQueueOptions options, telemetry::MetricRegistry& metrics, Clock& clock = Clock::Real());

  void Add(const Key& key);                                       // at once
  void AddAfter(const Key& key, std::chrono::nanoseconds delay);  // repeated calls for a key: the earliest time counts
  void AddRateLimited(const Key& key);                            // after a failure
  void Forget(const Key& key);                                    // after a success: the next failure waits first_delay
  // Blocks until a key is ready and returns it; the caller must call Done for it. Returns nullopt at the deadline or
  // after Shutdown.
  std::optional<Key> Get(Deadline deadline);
  void Done(const Key& key);
  void Shutdown();  // drops all waiting keys and wakes all callers of Get
  bool is_shut_down() const;
  size_t depth() const;  // number of keys that are ready
  const std::string& name() const { return options_.name; }

 private:
  void AddLocked(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddAfterLocked(const Key& key, std::chrono::nanoseconds delay) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeReady(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Key TakeReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MeasureRunningWork();

  const WorkQueueOptions options_;
  Clock& clock_;
  WorkQueueMetrics metrics_;    // thread-safe
  client::TokenBucket bucket_;  // thread-safe

  mutable Mutex mutex_;
  bool is_shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t num_changes_ ABSL_GUARDED_BY(mutex_) = 0;  // increases when Get must check again
  PhiloxStream jitter_ ABSL_GUARDED_BY(mutex_);
  std::deque<Key> ready_ ABSL_GUARDED_BY(mutex_);
  // Keys that need processing, with the time of Add: those of ready_, and those added while they are in processing_.
  std::map<Key, SteadyTime> dirty_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, SteadyTime> processing_ ABSL_GUARDED_BY(mutex_);  // with the time of Get
  std::map<Key, SteadyTime> delayed_ ABSL_GUARDED_BY(mutex_);     // with the due time
  std::set<std::pair<SteadyTime, Key>> delayed_by_time_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, int> num_failures_ ABSL_GUARDED_BY(mutex_);

  std::shared_ptr<void> measuring_;  // last member: its callback ends before the others are destroyed
};

}  // namespace espalier::ctl::runtime
