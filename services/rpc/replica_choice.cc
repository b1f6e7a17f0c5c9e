#include "services/rpc/replica_choice.h"

#include <algorithm>

#include "services/base/check.h"

namespace espalier::rpc {

ReplicaChoice::ReplicaChoice(std::vector<bool> near, ReplicaRest rest, Clock& clock)
    : num_servers_(near.size()), rest_(rest), clock_(clock), servers_(near.size()) {
  ESPALIER_CHECK(!near.empty()) << "a choice among no servers";
  for (size_t i = 0; i < near.size(); ++i) servers_[i].is_near = near[i];
}

// Nobody knows when a call that finds out for all will end: a machine that is gone may keep it waiting for long.
SteadyTime ReplicaChoice::RestsUntil(const Server& server) {
  return server.failures > 0 && server.calls_under_way > 0 ? SteadyTime::max() : server.rests_until;
}

bool ReplicaChoice::IsBetter(const Server& one, const Server& other, SteadyTime now) {
  const bool rests = RestsUntil(one) > now, other_rests = RestsUntil(other) > now;
  if (rests != other_rests) return other_rests;
  if (rests) return RestsUntil(one) < RestsUntil(other);
  if (one.is_near != other.is_near) return one.is_near;
  return one.calls_under_way < other.calls_under_way;
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
  ++server.calls_under_way;
  if (server.failures > 0) Rest(server, now);  // this call finds out for all
  return best;
}

void ReplicaChoice::Answered(size_t server) {
  MutexLock lock(&mutex_);
  Server& asked = servers_[server];
  --asked.calls_under_way;
  asked.failures = 0;
  asked.rests_until = asked.counts_from = SteadyTime::min();
}

void ReplicaChoice::Unreachable(size_t server) {
  const SteadyTime now = clock_.Now();
  MutexLock lock(&mutex_);
  Server& asked = servers_[server];
  --asked.calls_under_way;
  if (asked.rests_until <= now) Rest(asked, now);  // calls that fail together count once
}

bool ReplicaChoice::AnyIsAwake() const {
  const SteadyTime now = clock_.Now();
  MutexLock lock(&mutex_);
  return std::any_of(servers_.begin(), servers_.end(),
                     [now](const Server& server) { return RestsUntil(server) <= now; });
}

// Where all rest, one that rests is asked too, as often as there are calls: each renews its rest, so that they take
// turns, and none makes it longer.
void ReplicaChoice::Rest(Server& server, SteadyTime now) const {
  const bool counts = server.counts_from <= now;
  if (counts) ++server.failures;
  std::chrono::milliseconds rest = rest_.first;
  for (int i = 1; i < server.failures && rest < rest_.longest; ++i) rest *= 2;
  server.rests_until = now + std::min(rest, rest_.longest);
  if (counts) server.counts_from = server.rests_until;
}

}  // namespace espalier::rpc
