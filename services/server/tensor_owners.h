// Which incarnation of the job made which mutable tensor, so that nothing of a dead one stays: its processes cannot
// drop what they made, and what they wrote after the last checkpoint must not be seen again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/graph/ids.h"

namespace espalier::server {

// Thread-safe.
class TensorOwners {
 public:
  using Tensor = std::pair<NodeTypeId, std::string>;

  // `incarnation` is about to create `tensor`. Returns the tensors that older ones have left behind, which are
  // forgotten here and for the caller to drop before it creates. Aborted where a newer incarnation has created any: a
  // request that came before its first one may be answered after it.
  Result<std::vector<Tensor>> Creates(const Tensor& tensor, uint64_t incarnation) ABSL_LOCKS_EXCLUDED(mutex_);
  void Dropped(const Tensor& tensor) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  std::map<Tensor, uint64_t> incarnations_ ABSL_GUARDED_BY(mutex_);
  uint64_t newest_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::server
