#include "services/server/applied_writes.h"

namespace espalier::server {

AppliedWrites::Client& AppliedWrites::ClientOf(uint64_t client_id) {
  const auto found = clients_.find(client_id);
  if (found != clients_.end()) {
    idle_first_.splice(idle_first_.end(), idle_first_, found->second.place);
    return found->second;
  }
  if (clients_.size() == kClients) {
    clients_.erase(idle_first_.front());
    idle_first_.pop_front();
  }
  Client& client = clients_[client_id];
  client.place = idle_first_.insert(idle_first_.end(), client_id);
  return client;
}

AppliedWrites::Claim AppliedWrites::TryClaim(uint64_t client_id, uint64_t sequence) {
  MutexLock lock(&mutex_);
  Client& client = ClientOf(client_id);
  if (sequence < client.below) return Claim::kForgotten;
  if (client.applied.contains(sequence)) return Claim::kApplied;
  return client.under_way.insert(sequence).second ? Claim::kTaken : Claim::kUnderWay;
}

void AppliedWrites::Applied(uint64_t client_id, uint64_t sequence) {
  MutexLock lock(&mutex_);
  Client& client = ClientOf(client_id);
  client.under_way.erase(sequence);
  if (sequence >= client.below) client.applied.insert(sequence);
  while (client.applied.size() > kWritesPerClient) {
    client.below = *client.applied.begin() + 1;
    client.applied.erase(client.applied.begin());
  }
}

void AppliedWrites::Failed(uint64_t client_id, uint64_t sequence) {
  MutexLock lock(&mutex_);
  ClientOf(client_id).under_way.erase(sequence);
}

}  // namespace espalier::server
