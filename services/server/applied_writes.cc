#include "services/server/applied_writes.h"

#include <algorithm>

namespace espalier::server {

AppliedWrites::Client* AppliedWrites::FindOrAddClient(uint64_t client_id) {
  const auto found = clients_.find(client_id);
  if (found != clients_.end()) return &found->second;
  if (clients_.size() >= max_clients_) {
    if (idle_.empty() || idle_.begin()->first > clock_.Now()) return nullptr;
    clients_.erase(idle_.begin()->second);
    idle_.erase(idle_.begin());
  }
  return &clients_[client_id];
}

AppliedWrites::Claim AppliedWrites::TryClaim(const Number& change, Deadline deadline) {
  MutexLock lock(&mutex_);
  Client* const client = FindOrAddClient(change.client_id);
  if (client == nullptr) return Claim::kFull;
  idle_.erase({client->needed_until, change.client_id});
  client->needed_until =
      std::max(client->needed_until, deadline.AtMost(kMaxCallTime, clock_).time() + kMaxMessageDelay);
  const Claim claim = ClaimChange(*client, change);
  if (client->num_under_way == 0) idle_.insert({client->needed_until, change.client_id});
  return claim;
}

AppliedWrites::Claim AppliedWrites::ClaimChange(Client& client, const Number& change) {
  while (client.below < change.lowest_in_flight) {
    if (client.changes.empty()) {
      client.below = change.lowest_in_flight;
      break;
    }
    // The client has given up the change at the front, but a worker is still applying it. `change` must be retried
    // later.
    if (client.changes.front() == State::kUnderWay) return Claim::kUnderWay;
    client.changes.pop_front();
    ++client.below;
  }
  if (change.sequence < client.below) return Claim::kObsolete;
  const uint64_t index = change.sequence - client.below;
  if (index >= kWindow) return Claim::kTooMany;
  if (index >= client.changes.size()) client.changes.resize(index + 1, State::kUnknown);
  State& state = client.changes[index];
  if (state == State::kUnderWay) return Claim::kUnderWay;
  if (state == State::kApplied) return Claim::kApplied;
  state = State::kUnderWay;
  ++client.num_under_way;
  return Claim::kTaken;
}

void AppliedWrites::End(const Number& change, State state) {
  MutexLock lock(&mutex_);
  const auto found = clients_.find(change.client_id);
  if (found == clients_.end() || change.sequence < found->second.below) return;
  Client& client = found->second;
  const uint64_t index = change.sequence - client.below;
  if (index >= client.changes.size() || client.changes[index] != State::kUnderWay) return;
  client.changes[index] = state;
  if (--client.num_under_way == 0) idle_.insert({client.needed_until, change.client_id});
}

}  // namespace espalier::server
