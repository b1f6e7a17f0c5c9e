// Threads that take keys from the queue and reconcile them, until told to stop.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "operator/runtime/metrics.h"
#include "operator/runtime/work_queue.h"
#include "services/base/mutex.h"
#include "services/base/philox.h"
#include "services/base/status.h"

namespace espalier::ctl::runtime {

// What a stale key waits, doubled each time and jittered down to half; the write that the cache has not shown yet wakes
// it sooner, as a rule.
inline constexpr std::chrono::milliseconds kFirstStaleDelay{50};
inline constexpr std::chrono::milliseconds kMaxStaleDelay{2000};

struct ReconcileOutcome {
  // An error: the key comes back, rate limited. kAborted is none: somebody was faster, and the next round sees more;
  // but a conflict that stays is not repeated faster than an error.
  Status status;
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
  std::chrono::milliseconds StaleDelay(const kube::ObjectKey& key);
  void ForgetStale(const kube::ObjectKey& key);

  WorkQueue& queue_;
  const Reconcile reconcile_;
  const int num_threads_;
  ReconcileMetrics metrics_;
  Mutex mutex_;
  int num_running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<kube::ObjectKey, int> num_stale_ ABSL_GUARDED_BY(mutex_);  // in a row
  PhiloxStream jitter_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace espalier::ctl::runtime
