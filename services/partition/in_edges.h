// The in-edges of one partition in CSC order.
#pragma once

#include <string>

#include "services/graph/partition.h"
#include "services/partition/partition_layout.h"

namespace espalier::partition {

struct OrderedInEdges {
  graph::InEdges csc;
  // U32 or U64 [m]: the row in the source graph's EdgeSet of the edge at each position of csc.indices.
  Tensor source_rows;
};

// Returns the in-edges of `partition` of one edge type. The in-edges of each node are sorted by (time column if the
// type has it, source's original ID, original edge ID). The result does not depend on the number of threads.
OrderedInEdges BuildInEdges(const graph::SourceGraph& graph, const PartitionLayout& layout, PartitionId partition,
                            EdgeTypeId type, const std::string& time_column, int threads);

}  // namespace espalier::partition
