// Choice of a replica for each call.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier::rpc {

struct ReplicaBackoff {
  // How long a server rests after a failure, that is, how long calls avoid it. Doubles with each consecutive failure up
  // to `longest`; all failures within one rest count as one.
  std::chrono::milliseconds first{500};
  std::chrono::milliseconds longest{60'000};
};

// Chooses a server in this order of preference: servers that do not rest, servers on this machine, servers with the
// fewest calls in flight, round robin. A server whose rest is over gets one call and keeps resting for other calls
// until that call has ended. If all servers rest, Pick returns the one whose rest ends first. Thread-safe.
class ReplicaChoice {
 public:
  // near[i]: whether server i runs on this machine; at least one server. The clock must outlive this object.
  explicit ReplicaChoice(std::vector<bool> near, ReplicaBackoff rest = {}, Clock& clock = Clock::Real());

  // Returns the index of a server. The caller must call RecordResponse, Unreachable or RecordCancelled once with this
  // index.
  size_t Pick() ABSL_LOCKS_EXCLUDED(mutex_);
  void RecordResponse(size_t server) ABSL_LOCKS_EXCLUDED(mutex_);  // also with an error
  void Unreachable(size_t server) ABSL_LOCKS_EXCLUDED(mutex_);
  void RecordCancelled(size_t server)
      ABSL_LOCKS_EXCLUDED(mutex_);  // cancelled on this side: says nothing about the server

  // Returns whether Pick would return a server that does not rest.
  bool HasAvailableServer() const ABSL_LOCKS_EXCLUDED(mutex_);
  size_t size() const { return num_servers_; }

 private:
  struct Server {
    bool is_near = false;
    size_t calls_in_flight = 0;
    int failures = 0;  // consecutive
    SteadyTime rests_until = SteadyTime::min();
    SteadyTime counts_from = SteadyTime::min();  // earlier failures are not counted
  };
  static SteadyTime BackoffEnd(const Server& server);
  static bool IsBetter(const Server& one, const Server& other, SteadyTime now);
  void Rest(Server& server, SteadyTime now) const;

  const size_t num_servers_;
  const ReplicaBackoff rest_;
  Clock& clock_;
  mutable Mutex mutex_;
  std::vector<Server> servers_ ABSL_GUARDED_BY(mutex_);
  size_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::rpc
