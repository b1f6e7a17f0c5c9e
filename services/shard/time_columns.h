// Edge columns that order in-edges by time, so that a binary search finds the in-edges of a node up to a given time.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "services/base/mutex.h"
#include "services/graph/partition.h"

namespace espalier::shard {

// Thread-safe. The first request for a column reads the whole column to check that the times of each node's in-edges
// ascend; concurrent requests wait.
class TimeColumns {
 public:
  explicit TimeColumns(const graph::Partition& partition) : partition_(partition) {}

  // Returns the column, or null if this edge type does not have it; time then does not restrict which of the type's
  // edges are sampled. NotFound: no edge type has the column. InvalidArgument, which is cached too: the column is not
  // one integer per edge, or in-edges are out of order; the message then has the first such position.
  Result<const Tensor*> Get(EdgeTypeId type, const std::string& column) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Status Check(EdgeTypeId type, const Tensor& times) const;

  const graph::Partition& partition_;  // outlives this
  Mutex mutex_;
  std::map<std::pair<uint16_t, std::string>, Status> checked_ ABSL_GUARDED_BY(mutex_);
};

// Returns how many of a node's in-edges, those at positions [begin, begin + degree) of `times`, are not later than
// `time`. These are the first ones. `times` is a column from TimeColumns::Get.
uint32_t CountNotLater(const Tensor& times, uint64_t begin, uint32_t degree, int64_t time);

}  // namespace espalier::shard
