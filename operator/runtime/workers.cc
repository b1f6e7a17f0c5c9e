#include "operator/runtime/workers.h"

#include <utility>

#include "services/base/backoff.h"
#include "services/base/check.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::runtime {
namespace {

constexpr std::chrono::minutes kMaxGetWait{1};
constexpr RetryPolicy kStaleBackoff{.initial_delay = kFirstStaleDelay, .max_delay = kMaxStaleDelay};

}  // namespace

Workers::Workers(WorkQueue& queue, Reconcile reconcile, int num_threads, telemetry::MetricRegistry& metrics)
    : queue_(queue),
      reconcile_(std::move(reconcile)),
      num_threads_(num_threads),
      metrics_(metrics, queue.name()),
      jitter_(std::hash<std::string>()(queue.name()), 1) {
  ESPALIER_CHECK(num_threads > 0) << "workers without a thread";
  metrics_.max_concurrent.Set(num_threads);
}

Workers::~Workers() { queue_.Shutdown(); }

void Workers::Start() {
  {
    MutexLock lock(&mutex_);
    num_running_ = num_threads_;
  }
  for (int i = 0; i < num_threads_; ++i) threads_.emplace_back([this] { Run(); });
}

void Workers::Run() {
  while (!queue_.is_shut_down()) RunOnce(Deadline::After(kMaxGetWait));
  MutexLock lock(&mutex_);
  --num_running_;
}

bool Workers::RunOnce(Deadline deadline) {
  const std::optional<kube::ObjectKey> key = queue_.Get(deadline);
  if (!key) return false;
  metrics_.active_workers.Add(1);
  const Timer timer;
  const ReconcileOutcome outcome = reconcile_(*key);
  metrics_.seconds.Observe(timer.Seconds());
  metrics_.active_workers.Add(-1);
  Finish(*key, outcome);
  queue_.Done(*key);
  return true;
}

void Workers::Finish(const kube::ObjectKey& key, const ReconcileOutcome& outcome) {
  if (outcome.stale) {
    metrics_.requeued.Add();
    return queue_.AddAfter(key, StaleDelay(key));
  }
  ForgetStale(key);
  if (outcome.status.code() == StatusCode::kAborted) {
    metrics_.requeued.Add();
    return queue_.AddRateLimited(key);
  }
  if (!outcome.status.ok()) {
    metrics_.failed.Add();
    metrics_.errors.Add();
    telemetry::Log(telemetry::Level::kWarning, "reconcile failed",
                   {{"controller", queue_.name()}, {"object", kube::ToString(key)}, {"error", outcome.status}});
    return queue_.AddRateLimited(key);
  }
  // After the next failure, the queue waits only its first_delay again.
  queue_.Forget(key);
  if (!outcome.requeue_after) return metrics_.succeeded.Add();
  metrics_.requeued_after.Add();
  queue_.AddAfter(key, *outcome.requeue_after);
}

std::chrono::milliseconds Workers::StaleDelay(const kube::ObjectKey& key) {
  MutexLock lock(&mutex_);
  return DelayBefore(++num_stale_[key], kStaleBackoff, jitter_.Next());
}

void Workers::ForgetStale(const kube::ObjectKey& key) {
  MutexLock lock(&mutex_);
  num_stale_.erase(key);
}

bool Workers::Stop(Deadline deadline) {
  queue_.Shutdown();
  MutexLock lock(&mutex_);
  return mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_running_ == 0; });
}

}  // namespace espalier::ctl::runtime
