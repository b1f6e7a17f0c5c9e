#include "services/server/applied_writes.h"

namespace espalier::server {

AppliedWrites::Client& AppliedWrites::ClientOf(uint64_t client_id) {
  const auto found = clients_.find(client_id);
  if (found != clients_.end()) {
    idle_first_.splice(idle_first_.end(), idle_first_, found->second.place);
    return found->second;
  }
  ForgetTheIdle();
  Client& client = clients_[client_id];
  client.place = idle_first_.insert(idle_first_.end(), client_id);
  return client;
}

void AppliedWrites::ForgetTheIdle() {
  for (auto id = idle_first_.begin(); clients_.size() >= kClients && id != idle_first_.end();) {
    const auto client = clients_.find(*id);
    // To its next try what is under way would be new.
    if (client->second.num_under_way > 0) {
      ++id;
      continue;
    }
    clients_.erase(client);
    id = idle_first_.erase(id);
  }
}

AppliedWrites::Claim AppliedWrites::TryClaim(const Number& change) {
  MutexLock lock(&mutex_);
  Client& client = ClientOf(change.client_id);
  while (client.below < change.lowest_under_way) {
    if (client.changes.empty()) {
      client.below = change.lowest_under_way;
      break;
    }
    // It was given up, but a worker applies it at this moment: what follows waits for that.
    if (client.changes.front() == State::kUnderWay) return Claim::kUnderWay;
    client.changes.pop_front();
    ++client.below;
  }
  if (change.sequence < client.below) return Claim::kOver;
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
  --client.num_under_way;
  idle_first_.splice(idle_first_.end(), idle_first_, client.place);
}

}  // namespace espalier::server
