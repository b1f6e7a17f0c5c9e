#include "services/rpc/replica_choice.h"

#include <algorithm>

#include "services/base/check.h"

namespace espalier::rpc {

ReplicaChoice::ReplicaChoice(std::vector<bool> near, ReplicaBackoff backoff, Clock& clock)
    : num_servers_(near.size()), backoff_(backoff), clock_(clock), servers_(near.size()) {
  ESPALIER_CHECK(!near.empty()) << "at least one server is needed";
  for (size_t i = 0; i < near.size(); ++i) servers_[i].is_near = near[i];
}

// The backoff of a failed server does not end while a call to it, such as the probe, is in flight: the call may take
// long if the machine is down.
SteadyTime ReplicaChoice::BackoffEnd(const Server& server) {
  return server.failures > 0 && server.calls_in_flight > 0 ? SteadyTime::max() : server.backoff_until;
}

bool ReplicaChoice::IsBetter(const Server& one, const Server& other, SteadyTime now) {
  const bool backs_off = BackoffEnd(one) > now, other_backs_off = BackoffEnd(other) > now;
  if (backs_off != other_backs_off) return other_backs_off;
  if (backs_off) return BackoffEnd(one) < BackoffEnd(other);
  if (one.is_near != other.is_near) return one.is_near;
  return one.calls_in_flight < other.calls_in_flight;
}

size_t ReplicaChoice::Pick() {
  const SteadyTime now = clock_.Now();
  MutexLock lock(&mutex_);
  size_t best = turn_ % servers_.size();
  for (size_t i = 1; i < servers_.size(); ++i) {
    const size_t candidate = (turn_ + i) % servers_.size();
    if (IsBetter(servers_[candidate], servers_[best], now)) best = candidate;
  }
  turn_ = best + 1;
  Server& server = servers_[best];
  ++server.calls_in_flight;
  if (server.failures > 0) StartBackoff(server, now);  // this call is the probe
  return best;
}

void ReplicaChoice::RecordResponse(size_t server) {
  MutexLock lock(&mutex_);
  Server& called = servers_[server];
  --called.calls_in_flight;
  called.failures = 0;
  called.backoff_until = called.counts_from = SteadyTime::min();
}

void ReplicaChoice::RecordUnreachable(size_t server) {
  const SteadyTime now = clock_.Now();
  MutexLock lock(&mutex_);
  Server& called = servers_[server];
  --called.calls_in_flight;
  if (called.backoff_until <= now) StartBackoff(called, now);  // calls that fail together count once
}

void ReplicaChoice::RecordCancelled(size_t server) {
  MutexLock lock(&mutex_);
  --servers_[server].calls_in_flight;
}

bool ReplicaChoice::HasAvailableServer() const {
  const SteadyTime now = clock_.Now();
  MutexLock lock(&mutex_);
  return std::any_of(servers_.begin(), servers_.end(),
                     [now](const Server& server) { return BackoffEnd(server) <= now; });
}

// If all servers are in backoff, each call restarts the backoff of its server, so that the servers take turns. Only one
// failure counts per backoff, so that its duration does not grow with each such call.
void ReplicaChoice::StartBackoff(Server& server, SteadyTime now) const {
  const bool counts = server.counts_from <= now;
  if (counts) ++server.failures;
  std::chrono::milliseconds duration = backoff_.first;
  for (int i = 1; i < server.failures && duration < backoff_.longest; ++i) duration *= 2;
  server.backoff_until = now + std::min(duration, backoff_.longest);
  if (counts) server.counts_from = server.backoff_until;
}

}  // namespace espalier::rpc
