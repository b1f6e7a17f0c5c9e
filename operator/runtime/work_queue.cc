// The sets are those of client-go: ready_ is the queue, dirty_ has the keys that need processing, and processing_ has
// the keys that workers are processing. If a key is in processing_, Add only puts it into dirty_, and Done later adds
// it to ready_. So no two workers have the same key. Delayed keys wait in delayed_by_time_; there is no timer thread,
// since Get moves due keys itself.
#include "operator/runtime/work_queue.h"

#include <algorithm>
#include <functional>

#include "services/base/backoff.h"
#include "services/base/check.h"

namespace espalier::ctl::runtime {
namespace {

// Longest wait of Get before it checks again; avoids overflow with distant deadlines.
constexpr std::chrono::minutes kMaxQueueWait{1};

double SecondsBetween(SteadyTime begin, SteadyTime end) { return std::chrono::duration<double>(end - begin).count(); }

}  // namespace

WorkQueue::WorkQueue(WorkQueueOptions options, telemetry::MetricRegistry& metrics, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      metrics_(metrics, options_.name),
      bucket_(options_.qps, options_.burst, clock),
      jitter_(std::hash<std::string>()(options_.name), 0),
      measuring_(metrics.BeforeSerialize([this] { MeasureRunningWork(); })) {}

void WorkQueue::Add(const Key& key) {
  MutexLock lock(&mutex_);
  AddLocked(key);
}

void WorkQueue::AddLocked(const Key& key) {
  if (is_shut_down_ || !dirty_.emplace(key, clock_.Now()).second) return;
  metrics_.adds.Add();
  if (!processing_.contains(key)) MakeReady(key);
}

void WorkQueue::MakeReady(const Key& key) {
  ready_.push_back(key);
  metrics_.depth.Set(static_cast<double>(ready_.size()));
  ++num_changes_;
}

void WorkQueue::AddAfter(const Key& key, std::chrono::nanoseconds delay) {
  MutexLock lock(&mutex_);
  AddAfterLocked(key, delay);
}

void WorkQueue::AddAfterLocked(const Key& key, std::chrono::nanoseconds delay) {
  if (is_shut_down_) return;
  metrics_.retries.Add();
  if (delay <= std::chrono::nanoseconds(0)) return AddLocked(key);
  const SteadyTime due = clock_.Now() + delay;
  const auto [it, is_new] = delayed_.emplace(key, due);
  if (!is_new) {
    if (it->second <= due) return;
    delayed_by_time_.erase({it->second, key});
    it->second = due;
  }
  delayed_by_time_.emplace(due, key);
  ++num_changes_;
}

void WorkQueue::AddRateLimited(const Key& key) {
  const std::chrono::nanoseconds overall = bucket_.Take();
  MutexLock lock(&mutex_);
  const RetryPolicy policy{.initial_delay = options_.first_delay, .max_delay = options_.max_delay};
  const std::chrono::nanoseconds own = DelayBefore(++num_failures_[key], policy, jitter_.Next());
  AddAfterLocked(key, std::max(own, overall));
}

void WorkQueue::Forget(const Key& key) {
  MutexLock lock(&mutex_);
  num_failures_.erase(key);
}

void WorkQueue::AddDue() {
  const SteadyTime now = clock_.Now();
  while (!delayed_by_time_.empty() && delayed_by_time_.begin()->first <= now) {
    const Key key = delayed_by_time_.begin()->second;
    delayed_by_time_.erase(delayed_by_time_.begin());
    delayed_.erase(key);
    AddLocked(key);
  }
}

std::optional<WorkQueue::Key> WorkQueue::Get(Deadline deadline) {
  MutexLock lock(&mutex_);
  while (true) {
    if (is_shut_down_) return std::nullopt;
    AddDue();
    if (!ready_.empty()) return TakeReady();
    const SteadyTime now = clock_.Now();
    if (now >= deadline.time()) return std::nullopt;
    SteadyTime until = std::min(deadline.time(), now + kMaxQueueWait);
    if (!delayed_by_time_.empty()) until = std::min(until, delayed_by_time_.begin()->first);
    // Waits in real time even if clock_ is a fake; a change of a fake clock is noticed when the queue changes.
    mutex_.AwaitBefore(Deadline::After(until - now), [this, seen = num_changes_]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                                         mutex_) { return num_changes_ != seen; });
  }
}

WorkQueue::Key WorkQueue::TakeReady() {
  Key key = std::move(ready_.front());
  ready_.pop_front();
  metrics_.depth.Set(static_cast<double>(ready_.size()));
  const auto added = dirty_.find(key);
  const SteadyTime now = clock_.Now();
  metrics_.queue_seconds.Observe(SecondsBetween(added->second, now));
  dirty_.erase(added);
  processing_.emplace(key, now);
  return key;
}

void WorkQueue::Done(const Key& key) {
  MutexLock lock(&mutex_);
  const auto it = processing_.find(key);
  ESPALIER_CHECK(it != processing_.end()) << "Done without Get: " << kube::ToString(key);
  metrics_.work_seconds.Observe(SecondsBetween(it->second, clock_.Now()));
  processing_.erase(it);
  if (dirty_.contains(key)) MakeReady(key);
}

void WorkQueue::Shutdown() {
  MutexLock lock(&mutex_);
  is_shut_down_ = true;
  ready_.clear();
  dirty_.clear();
  delayed_.clear();
  delayed_by_time_.clear();
  metrics_.depth.Set(0);
  ++num_changes_;
}

bool WorkQueue::is_shut_down() const {
  MutexLock lock(&mutex_);
  return is_shut_down_;
}

size_t WorkQueue::depth() const {
  MutexLock lock(&mutex_);
  return ready_.size();
}

void WorkQueue::MeasureRunningWork() {
  MutexLock lock(&mutex_);
  const SteadyTime now = clock_.Now();
  double sum = 0;
  double longest = 0;
  for (const auto& [key, since] : processing_) {
    const double seconds = SecondsBetween(since, now);
    sum += seconds;
    longest = std::max(longest, seconds);
  }
  metrics_.unfinished_work_seconds.Set(sum);
  metrics_.longest_running_processor_seconds.Set(longest);
}

}  // namespace espalier::ctl::runtime
