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
  // The bucket starts full. qps 0: no limit.
  TokenBucket(double qps, double burst, Clock& clock = Clock::Real());  // `clock` must outlive this

  // Takes a token, if necessary one of the future, and returns how long the caller must wait until it is available.
  std::chrono::nanoseconds Take();
  // Like Take, but takes no token and returns nullopt if the wait would be longer than `longest`.
  std::optional<std::chrono::nanoseconds> TakeWithin(std::chrono::nanoseconds longest);

 private:
  const double qps_;
  const double burst_;
  Clock& clock_;
  Mutex mutex_;
  double tokens_ ABSL_GUARDED_BY(mutex_);  // negative: taken from the future
  SteadyTime refilled_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::client
