// Threads that take keys from a work queue and reconcile them until the queue is shut down.
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

// The delay after which a key is requeued because the cache is stale. It doubles with each consecutive requeue, up to
// kMaxStaleDelay; jitter shortens it by at most half. Usually the watch event for the write that is missing in the
// cache adds the key sooner.
inline constexpr std::chrono::milliseconds kFirstStaleDelay{50};
inline constexpr std::chrono::milliseconds kMaxStaleDelay{2000};

struct ReconcileOutcome {
  // After an error the key is requeued with the rate limit of failures. After kAborted (a conflict with another writer)
  // the key is requeued in the same way, but no error is counted or logged.
  Status status;
  std::optional<std::chrono::nanoseconds> requeue_after;  // used if status is ok and stale is false
  // The cache does not yet contain this operator's writes; the key is requeued soon, and no error is counted.
  bool stale = false;
};
using Reconcile = std::function<ReconcileOutcome(const kube::ObjectKey&)>;

// Metrics, with the queue's name as label `controller`: controller_runtime_reconcile_total{result},
// controller_runtime_reconcile_errors_total, controller_runtime_reconcile_time_seconds,
// controller_runtime_active_workers, controller_runtime_max_concurrent_reconciles.
//
// Thread-safe. `queue` must outlive the workers.
class Workers {
 public:
  Workers(WorkQueue& queue, Reconcile reconcile, int num_threads, telemetry::MetricRegistry& metrics);
  ~Workers();  // shuts the queue down and waits, without a time limit, for running reconciles

  void Start();  // at most once
  // Shuts the queue down and waits for running reconciles. Returns false if some still run at the deadline.
  bool Stop(Deadline deadline);
  // Reconciles the next key. Returns false if there is none by the deadline, or the queue is shut down. The threads
  // call it; public for tests.
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
  std::map<kube::ObjectKey, int> num_stale_ ABSL_GUARDED_BY(mutex_);  // number of consecutive stale outcomes
  PhiloxStream jitter_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;  // last member, so that they are joined before the others are destroyed
};

}  // namespace espalier::ctl::runtime
