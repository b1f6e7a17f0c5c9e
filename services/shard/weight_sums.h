// Integer prefix sums of edge columns, built when a column is first used as weights.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "services/base/mutex.h"
#include "services/graph/partition.h"

namespace espalier::shard {

// Thread-safe. One build at a time; concurrent requests wait for it.
class WeightSums {
 public:
  // [edges of the type], in stored order: for each node separately, the prefix sums of the weights of its in-edges
  // (QuantizeRow in weighted_draws.h).
  using Sums = std::shared_ptr<const uint32_t[]>;

  explicit WeightSums(const graph::Partition& partition) : partition_(partition) {}

  // Returns the sums, or null if the partition has no edges of the type. NotFound: there is no such column; the message
  // names the existing ones. InvalidArgument, which is cached too: a weight is negative or not finite (the message
  // gives the position of the first), or the column cannot contain weights. ResourceExhausted: there is not enough
  // memory.
  Result<Sums> Get(EdgeTypeId type, const std::string& column) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Result<Sums> Build(EdgeTypeId type, const std::string& column) const;

  const graph::Partition& partition_;  // outlives this
  Mutex mutex_;
  std::map<std::pair<uint16_t, std::string>, Result<Sums>> built_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::shard
