// The in-edges of one partition in CSC order.
#pragma once

#include <string>

#include "services/graph/partition.h"
#include "services/partition/partition_layout.h"

namespace espalier::partition {

struct OrderedInEdges {
  graph::InEdges csc;
  // The edge's row in the source graph's EdgeSet, for each position of csc.indices: U32 or U64 [m].
  Tensor input_rows;
};

// Returns the in-edges of one edge type in `partition`. The in-edges of each node are sorted by (the time column if the
// type has it, the source's original ID, the original edge ID). `time_column` may be empty. The result does not depend
// on the number of threads.
OrderedInEdges BuildInEdges(const graph::SourceGraph& graph, const PartitionLayout& layout, PartitionId partition,
                            EdgeTypeId type, const std::string& time_column, int threads);

}  // namespace espalier::partition
