// Choice of a replica for each call.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier::rpc {

struct ReplicaBackoff {
  // Duration of a server's backoff, during which calls avoid the server: `first` after one failure, doubled for each
  // consecutive failure up to `longest`. Further failures during a backoff do not count.
  std::chrono::milliseconds first{500};
  std::chrono::milliseconds longest{60'000};
};

// Chooses a server in this order of preference: servers that are not in backoff, servers on this machine, servers with
// the fewest calls in flight, round robin. At the end of a backoff the server gets a single call, the probe; other
// calls avoid the server until the probe has ended. If all servers are in backoff, Pick returns the one whose backoff
// ends first. Thread-safe.
class ReplicaChoice {
 public:
  // near[i] is whether server i runs on this machine. There must be at least one server. The clock must outlive this
  // object.
  explicit ReplicaChoice(std::vector<bool> near, ReplicaBackoff backoff = {}, Clock& clock = Clock::Real());

  // Returns the index of a server. The caller must call one of RecordResponse, RecordUnreachable and RecordCancelled
  // once with this index when the call has ended.
  size_t Pick() ABSL_LOCKS_EXCLUDED(mutex_);
  void RecordResponse(size_t server) ABSL_LOCKS_EXCLUDED(mutex_);  // a reply or an error of the server
  void RecordUnreachable(size_t server) ABSL_LOCKS_EXCLUDED(mutex_);
  void RecordCancelled(size_t server) ABSL_LOCKS_EXCLUDED(mutex_);  // this process cancelled the call

  // Returns whether Pick would return a server that is not in backoff.
  bool HasAvailableServer() const ABSL_LOCKS_EXCLUDED(mutex_);
  size_t size() const { return num_servers_; }

 private:
  struct Server {
    bool is_near = false;
    size_t calls_in_flight = 0;
    int failures = 0;  // consecutive
    SteadyTime backoff_until = SteadyTime::min();
    SteadyTime counts_from = SteadyTime::min();  // failures before this time do not count
  };
  static SteadyTime BackoffEnd(const Server& server);
  static bool IsBetter(const Server& one, const Server& other, SteadyTime now);
  void StartBackoff(Server& server, SteadyTime now) const;

  const size_t num_servers_;
  const ReplicaBackoff backoff_;
  Clock& clock_;
  mutable Mutex mutex_;
  std::vector<Server> servers_ ABSL_GUARDED_BY(mutex_);
  size_t turn_ ABSL_GUARDED_BY(mutex_) = 0;  // index of the server that wins ties
};

}  // namespace espalier::rpc
