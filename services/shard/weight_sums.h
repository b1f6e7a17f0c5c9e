// The integer prefix sums of an edge column, made when somebody first samples by it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "services/base/mutex.h"
#include "services/graph/partition.h"

namespace espalier::shard {

// Thread-safe. One build at a time; who asks meanwhile waits for it.
class WeightSums {
 public:
  using Sums = std::shared_ptr<const uint32_t[]>;  // [edges of the type], each row on its own

  explicit WeightSums(const graph::Partition& partition) : partition_(partition) {}

  // Null where the partition has no edges of the type, with the column or without. NotFound names the columns that
  // exist; InvalidArgument the first weight that is negative or not finite;
  // ResourceExhausted where there is no memory for the sums. What is wrong with a column is remembered too.
  Result<Sums> Get(EdgeTypeId type, const std::string& column) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Result<Sums> Build(EdgeTypeId type, const std::string& column) const;

  const graph::Partition& partition_;  // outlives this
  Mutex mutex_;
  std::map<std::pair<uint16_t, std::string>, Result<Sums>> built_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::shard
