#include "operator/client/token_bucket.h"

#include <algorithm>

namespace espalier::ctl::client {

using std::chrono::nanoseconds;

namespace {

// The longest wait. With a tiny qps, the time of the next token does not fit into nanoseconds.
constexpr nanoseconds kMaxWait = std::chrono::hours(24 * 365);

}  // namespace

TokenBucket::TokenBucket(double qps, double burst, Clock& clock)
    : qps_(qps), burst_(std::max(burst, 1.0)), clock_(clock), tokens_(burst_), refilled_at_(clock.Now()) {}

nanoseconds TokenBucket::Take() { return TakeWithin(nanoseconds::max()).value_or(nanoseconds(0)); }

std::optional<nanoseconds> TokenBucket::TakeWithin(nanoseconds longest) {
  if (qps_ <= 0) return nanoseconds(0);
  MutexLock lock(&mutex_);
  const SteadyTime now = clock_.Now();
  const std::chrono::duration<double> passed = now - refilled_at_;
  tokens_ = std::min(burst_, tokens_ + qps_ * std::max(0.0, passed.count()));
  refilled_at_ = std::max(refilled_at_, now);
  const double missing = std::max(0.0, 1 - tokens_);
  const double wait_ns = std::min(missing / qps_ * 1e9, static_cast<double>(kMaxWait.count()));
  const nanoseconds wait(static_cast<int64_t>(wait_ns));
  if (wait > longest) return std::nullopt;
  tokens_ -= 1;
  return wait;
}

}  // namespace espalier::ctl::client
