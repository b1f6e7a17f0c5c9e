#include "services/server/applied_writes.h"

namespace espalier::server {

AppliedWrites::Client& AppliedWrites::ClientOf(uint64_t client_id) {
  const auto [entry, is_new] = clients_.try_emplace(client_id);
  if (is_new) {
    oldest_first_.push_back(client_id);
    if (oldest_first_.size() > kClients) {
      clients_.erase(oldest_first_.front());
      oldest_first_.pop_front();
    }
  }
  return clients_[client_id];
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
