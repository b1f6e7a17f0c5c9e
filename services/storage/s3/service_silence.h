// Tracks how long a service has not responded to any call, so that all calls share one time limit.
//
// A service that refuses connections, or accepts requests and does not respond, costs every call its full time limit.
// Ten calls in succession, as at the end of training, would wait ten times as long although the outcome is known after
// the first. Their time limit therefore counts from the beginning of the silence, and late calls get just enough time
// for one request:
//
//   patience 40 s, shortest 5 s        0     10    20    30    40    50    60    70
//   the service                        answers |13 s: does not respond ...
//   calls that begin at 20 and at 62               |<----- 33 s ------>|    |5s|
//
// Any response, including an error, ends the silence. Only failed requests show that it lasts: more than `patience`
// after the last one, the next call has the full time limit again.
#pragma once

#include <chrono>
#include <optional>

#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier::storage {

// Thread-safe. Callers pass the current time.
class ServiceSilence {
 public:
  // `patience` is the full time limit of a call, `shortest` (<= patience) the least time of any call.
  ServiceSilence(std::chrono::nanoseconds patience, std::chrono::nanoseconds shortest)
      : patience_(patience), shortest_(shortest) {}

  // Returns the time limit of a call that begins now.
  std::chrono::nanoseconds BudgetAt(SteadyTime now) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the least time of any call.
  std::chrono::nanoseconds shortest() const { return shortest_; }
  // Returns how long the service has been silent; nullopt if it is not known to be silent.
  std::optional<std::chrono::nanoseconds> LengthAt(SteadyTime now) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Records a response, including an error response.
  void RecordResponse(SteadyTime now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Records that a request sent at `sent` failed at `now` without a response. Requests fail when hardly any bytes are
  // transferred for `stall_time`, so the service may have been available until `stall_time` ago.
  void RecordFailure(SteadyTime sent, SteadyTime now, std::chrono::nanoseconds stall_time) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Returns whether the service is known to be silent.
  bool IsSilentAt(SteadyTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::chrono::nanoseconds patience_, shortest_;
  mutable Mutex mutex_;
  std::optional<SteadyTime> began_ ABSL_GUARDED_BY(mutex_);
  SteadyTime last_failure_ ABSL_GUARDED_BY(mutex_), last_response_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::storage
