#include "services/server/applied_writes.h"
#include "services/base/mutex.h"

namespace espalier::server {

bool AppliedWrites::Contains(uint64_t client_id, uint64_t sequence) const {
  MutexLock lock(&mutex_);
  const auto client = clients_.find(client_id);
  if (client == clients_.end()) return false;
  return sequence < client->second.below || client->second.sequences.contains(sequence);
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
