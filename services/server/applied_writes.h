// Which writes have been applied, so that one that arrives again is acknowledged and not applied again: a retry
// whose first try still sat in a queue must not undo a later write.
#pragma once

#include <cstdint>
#include <deque>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "services/base/mutex.h"

namespace espalier::server {

// Remembers the last `kWritesPerClient` writes of each of the last `kClients` clients. Thread-safe.
class AppliedWrites {
 public:
  static constexpr size_t kWritesPerClient = 4096;
  static constexpr size_t kClients = 1024;

  enum class Seen { kNo, kApplied, kForgotten };  // kForgotten: too old to know
  Seen Look(uint64_t client_id, uint64_t sequence) const ABSL_LOCKS_EXCLUDED(mutex_);
  void Add(uint64_t client_id, uint64_t sequence) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Client {
    uint64_t below = 0;            // what is below is forgotten
    std::set<uint64_t> sequences;  // from `below` on
  };

  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, Client> clients_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> oldest_first_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::server
