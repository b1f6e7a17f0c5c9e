// Threads that take keys from the queue and reconcile them, until told to stop.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "operator/runtime/metrics.h"
#include "operator/runtime/work_queue.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace espalier::ctl::runtime {

// What a stale key waits; the write that the cache has not shown yet wakes it sooner, as a rule.
inline constexpr std::chrono::milliseconds kStaleDelay{50};

struct ReconcileOutcome {
  Status status;                                          // an error: the key comes back, rate limited
  std::optional<std::chrono::nanoseconds> requeue_after;  // used where status is ok
  bool stale = false;                                     // the cache is behind our writes: again in a moment, no error
};
using Reconcile = std::function<ReconcileOutcome(const kube::ObjectKey&)>;

// controller_runtime_reconcile_total{controller,result}, controller_runtime_reconcile_errors_total,
// controller_runtime_reconcile_time_seconds, controller_runtime_active_workers,
// controller_runtime_max_concurrent_reconciles; `controller` is the queue's name. Thread-safe. `queue` outlives it.
class Workers {
 public:
  Workers(WorkQueue& queue, Reconcile reconcile, int num_threads, telemetry::MetricRegistry& metrics);
  ~Workers();  // shuts the queue down and waits for what is under way, however long that takes

  void Start();  // once
  // Shuts the queue down and waits for what is under way; false where that did not end by the deadline.
  bool Stop(Deadline deadline);
  // Reconciles one key: false where Get had none by the deadline. What the threads do; tests call it.
  bool RunOnce(Deadline deadline);

 private:
  void Run();
  void Finish(const kube::ObjectKey& key, const ReconcileOutcome& outcome);

  WorkQueue& queue_;
  const Reconcile reconcile_;
  const int num_threads_;
  ReconcileMetrics metrics_;
  Mutex mutex_;
  int num_running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace espalier::ctl::runtime
