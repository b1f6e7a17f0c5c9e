// Which writes have been applied, so that one that arrives again is acknowledged and not applied again: a retry
// whose first try still sat in a queue must not undo a later write. A write is claimed before it is applied, so that
// of two tries at the same time only one applies it.
#pragma once

#include <cstdint>
#include <list>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "services/base/mutex.h"

namespace espalier::server {

// Remembers the last `kWritesPerClient` writes of each of the `kClients` clients that have written last. Thread-safe.
class AppliedWrites {
 public:
  static constexpr size_t kWritesPerClient = 4096;
  static constexpr size_t kClients = 1024;

  enum class Claim {
    kTaken,      // the caller applies the write, then calls Applied or Failed
    kApplied,    // nothing to do
    kUnderWay,   // another try applies it at this moment
    kForgotten,  // too old to know
  };
  Claim TryClaim(uint64_t client_id, uint64_t sequence) ABSL_LOCKS_EXCLUDED(mutex_);
  // The end of a claim. Failed: the next try may claim the write.
  void Applied(uint64_t client_id, uint64_t sequence) ABSL_LOCKS_EXCLUDED(mutex_);
  void Failed(uint64_t client_id, uint64_t sequence) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Client {
    uint64_t below = 0;            // what is below is forgotten
    std::set<uint64_t> applied;    // from `below` on
    std::set<uint64_t> under_way;  // claimed
    std::list<uint64_t>::iterator place;
  };

  Client& ClientOf(uint64_t client_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  absl::flat_hash_map<uint64_t, Client> clients_ ABSL_GUARDED_BY(mutex_);
  std::list<uint64_t> idle_first_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::server
