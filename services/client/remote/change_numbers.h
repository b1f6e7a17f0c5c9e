// Numbers of one client's changes at one server, and which of them are under way.
#pragma once

#include <cstdint>
#include <set>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/base/mutex.h"
#include "services/base/unique_number.h"

namespace espalier::client {

// Thread-safe. Outlives the changes that it numbers: they hold a reference.
class ChangeNumbers {
 public:
  // The next change, which is under way until its End. The message also tells the server which changes are over.
  tensor::v1::Change Begin() ABSL_LOCKS_EXCLUDED(mutex_) {
    tensor::v1::Change change;
    change.set_client_id(client_id_);
    MutexLock lock(&mutex_);
    change.set_sequence(next_);
    under_way_.insert(under_way_.end(), next_++);
    change.set_lowest_under_way(*under_way_.begin());
    return change;
  }
  // No message of the change will be sent any more. What has ended does not mind.
  void End(uint64_t sequence) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    under_way_.erase(sequence);
  }

 private:
  const uint64_t client_id_ = UniqueNumber();
  Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  std::set<uint64_t> under_way_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::client
