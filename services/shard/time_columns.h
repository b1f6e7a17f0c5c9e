// Edge columns that order in-edges by time: which of a node's in-edges existed at a given time is then one binary
// search.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "services/base/mutex.h"
#include "services/graph/partition.h"

namespace espalier::shard {

// Thread-safe. The first question for a column reads all of it, to see that it ascends in every row; who asks meanwhile
// waits.
class TimeColumns {
 public:
  explicit TimeColumns(const graph::Partition& partition) : partition_(partition) {}

  // The column; null where this edge type has none, whose edges are of all times. NotFound where no edge type has it.
  // InvalidArgument: not one integer an edge, or in-edges are not ordered by it, and then a position says where. Errors
  // are remembered too.
  Result<const Tensor*> Get(EdgeTypeId type, const std::string& column) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Status Check(EdgeTypeId type, const Tensor& times) const;

  const graph::Partition& partition_;  // outlives this
  Mutex mutex_;
  std::map<std::pair<uint16_t, std::string>, Status> checked_ ABSL_GUARDED_BY(mutex_);
};

// How many of the positions [begin, begin + degree) hold a time that is not later than `time`: they come first.
uint32_t NumNotLater(const Tensor& times, uint64_t begin, uint32_t degree, int64_t time);

}  // namespace espalier::shard
