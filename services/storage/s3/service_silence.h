// How long a service has been giving no answer at all, whoever asked: so that all calls to it share one patience.
//
// A service that refuses connections, or takes requests and says nothing, costs every call all of its time. Where ten
// calls follow one another, as at the end of a training, that is ten times the time after which it was clear how they
// end. So their time counts from where the silence began, and calls that come late have just enough for one request:
//
//   patience 40 s, shortest 5 s        0    10    20    30    40    50    60    70
//   the service                        answers | says nothing ...
//   a call that begins at 20, at 62              |<- 33 s ----->|          |5|
//
// Any answer, a refusal too, ends the silence. And it is known only as long as somebody asks: after as long as the
// patience without a request, the next call has all of it again.
#pragma once

#include <chrono>
#include <optional>

#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier::storage {

// Thread-safe. Time is what its callers say.
class ServiceSilence {
 public:
  // shortest <= patience: what any call has.
  ServiceSilence(std::chrono::nanoseconds patience, std::chrono::nanoseconds shortest)
      : patience_(patience), shortest_(shortest) {}

  // For how long a call that begins now may go on.
  std::chrono::nanoseconds BudgetAt(SteadyTime now) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The least that a call has left.
  std::chrono::nanoseconds shortest() const { return shortest_; }
  // nullopt where the service is not known to be silent.
  std::optional<std::chrono::nanoseconds> LengthAt(SteadyTime now) const ABSL_LOCKS_EXCLUDED(mutex_);

  // There was an answer, whatever it said.
  void Answered(SteadyTime now) ABSL_LOCKS_EXCLUDED(mutex_);
  // There was none to a request of `sent` until `now`, when it failed. Requests during which nothing moves for
  // `stall_time` fail: up to so long ago the service may have been there.
  void Unanswered(SteadyTime sent, SteadyTime now, std::chrono::nanoseconds stall_time) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool IsKnownAt(SteadyTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::chrono::nanoseconds patience_, shortest_;
  mutable Mutex mutex_;
  std::optional<SteadyTime> began_ ABSL_GUARDED_BY(mutex_);
  SteadyTime last_failure_ ABSL_GUARDED_BY(mutex_), last_answer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::storage
