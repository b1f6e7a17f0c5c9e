// Which of several servers that give the same answers is asked next.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier::rpc {

struct ReplicaRest {
  // A server that could not be reached is left alone for so long; it doubles with each further failure in a row, where
  // failures within the length of one rest count once, however many calls there are.
  std::chrono::milliseconds first{500};
  std::chrono::milliseconds longest{60'000};
};

// Servers that do not rest before those that do; of these, near ones before others; of these, those with the fewest
// calls under way; of these, each in turn. A server whose rest is over gets one call, and rests on for the others until
// that one has ended. Where all rest, the one whose rest ends first is asked. Thread-safe.
class ReplicaChoice {
 public:
  // By server: whether it runs on this machine. At least one. The clock outlives this.
  explicit ReplicaChoice(std::vector<bool> near, ReplicaRest rest = {}, Clock& clock = Clock::Real());

  // The number of a server. Answered or Unreachable follows, once, with the same number.
  size_t Pick() ABSL_LOCKS_EXCLUDED(mutex_);
  void Answered(size_t server) ABSL_LOCKS_EXCLUDED(mutex_);  // whatever it said
  void Unreachable(size_t server) ABSL_LOCKS_EXCLUDED(mutex_);

  // True where Pick would return a server that does not rest.
  bool AnyIsAwake() const ABSL_LOCKS_EXCLUDED(mutex_);
  size_t size() const { return num_servers_; }

 private:
  struct Server {
    bool is_near = false;
    size_t calls_under_way = 0;
    int failures = 0;  // in a row
    SteadyTime rests_until = SteadyTime::min();
    SteadyTime counts_from = SteadyTime::min();  // a failure before that is one of those that were counted
  };
  static SteadyTime RestsUntil(const Server& server);
  static bool IsBetter(const Server& one, const Server& other, SteadyTime now);
  void Rest(Server& server, SteadyTime now) const;

  const size_t num_servers_;
  const ReplicaRest rest_;
  Clock& clock_;
  mutable Mutex mutex_;
  std::vector<Server> servers_ ABSL_GUARDED_BY(mutex_);
  size_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::rpc
