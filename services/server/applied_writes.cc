#include "services/server/applied_writes.h"

namespace espalier::server {

AppliedWrites::Seen AppliedWrites::Look(uint64_t client_id, uint64_t sequence) const {
  MutexLock lock(&mutex_);
  const auto client = clients_.find(client_id);
  if (client == clients_.end()) return Seen::kNo;
  if (sequence < client->second.below) return Seen::kForgotten;
  return client->second.sequences.contains(sequence) ? Seen::kApplied : Seen::kNo;
}

void AppliedWrites::Add(uint64_t client_id, uint64_t sequence) {
  MutexLock lock(&mutex_);
  const auto [entry, is_new] = clients_.try_emplace(client_id);
  if (is_new) {
    oldest_first_.push_back(client_id);
    if (oldest_first_.size() > kClients) {
      clients_.erase(oldest_first_.front());
      oldest_first_.pop_front();
    }
  }
  Client& client = clients_[client_id];
  if (sequence >= client.below) client.sequences.insert(sequence);
  while (client.sequences.size() > kWritesPerClient) {
    client.below = *client.sequences.begin() + 1;
    client.sequences.erase(client.sequences.begin());
  }
}

}  // namespace espalier::server
