// A token bucket for rate limits: `qps` tokens are added per second, at most `burst` are kept.
#pragma once

#include <chrono>
#include <optional>

#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier::ctl::client {

// Thread-safe.
class TokenBucket {
 public:
  // The bucket starts full. qps 0: no limit. A burst below 1 counts as 1. `clock` must outlive this.
  TokenBucket(double qps, double burst, Clock& clock = Clock::Real());

  // Takes a token, if necessary one that is added later, and returns how long the caller must wait for it, but at most
  // a year.
  std::chrono::nanoseconds Take();
  // Like Take, but if the wait would be longer than `longest`, takes no token and returns nullopt.
  std::optional<std::chrono::nanoseconds> TakeWithin(std::chrono::nanoseconds longest);

 private:
  const double qps_;
  const double burst_;
  Clock& clock_;
  Mutex mutex_;
  double tokens_ ABSL_GUARDED_BY(mutex_);  // negative: tokens were taken before they were added
  SteadyTime refilled_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::client
