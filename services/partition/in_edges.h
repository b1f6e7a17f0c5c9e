// The in-edges of one partition in CSC order.
#pragma once

#include <string>

#include "services/graph/partition.h"
#include "services/partition/partition_layout.h"

namespace espalier::partition {

struct OrderedInEdges {
  graph::InEdges csc;
  // U32 or U64 [m]: which edge of the source graph's EdgeSet stands at each position of csc.indices.
  Tensor source_rows;
};

// In-edges of `partition` under one edge type, each node's ordered by (time column if the type has it, source's
// original id, original edge id). The same for every number of threads.
OrderedInEdges BuildInEdges(const graph::SourceGraph& graph, const PartitionLayout& layout, PartitionId partition,
                            EdgeTypeId type, const std::string& time_column, int threads);

}  // namespace espalier::partition
