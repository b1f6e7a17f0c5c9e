// Sequence numbers of the changes that one client makes on one server. The server uses them to apply each change once.
#pragma once

#include <cstdint>
#include <set>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/base/mutex.h"
#include "services/base/unique_number.h"

namespace espalier::client {

// Thread-safe. Held by std::shared_ptr: pending changes hold references, so this object may outlive the client that
// created it.
class ChangeNumbers {
 public:
  // Returns the identity of a new change, which is pending until End. Its lowest_in_flight is the lowest pending
  // sequence number: the server may forget all changes with lower numbers.
  tensor::v1::Change Begin() ABSL_LOCKS_EXCLUDED(mutex_) {
    tensor::v1::Change change;
    change.set_client_id(client_id_);
    MutexLock lock(&mutex_);
    change.set_sequence(next_);
    pending_.insert(pending_.end(), next_++);
    change.set_lowest_in_flight(*pending_.begin());
    return change;
  }
  // Ends a change: the caller sends no further message of it. Idempotent.
  void End(uint64_t sequence) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    pending_.erase(sequence);
  }

 private:
  const uint64_t client_id_ = UniqueNumber();
  Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  std::set<uint64_t> pending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::client
