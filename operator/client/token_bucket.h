// So many requests a second, with a burst: `qps` tokens flow in a second, `burst` fit.
#pragma once

#include <chrono>
#include <optional>

#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier::ctl::client {

// Thread-safe.
class TokenBucket {
 public:
  // Full at first. qps 0: no limit.
  TokenBucket(double qps, double burst, Clock& clock = Clock::Real());  // `clock` outlives this

  // Takes a token, now or from the future, and says how long to wait before acting on it (zero: at once).
  std::chrono::nanoseconds Take();
  // The same where the wait is at most `longest`; else takes nothing, so that who gives up costs others no time.
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
