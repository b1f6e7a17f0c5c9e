// Streaming by several processes: the same assignment as one process's (partition/streaming_partitioner.cc), while each
// holds the neighbours of its share of the nodes only. The order in which nodes come by is cut into ranges; a process
// gets the neighbours of the nodes in its range from those that read the edges, places its nodes when its turn comes,
// and leaves their partitions for the others, who count them before theirs.
#pragma once

#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"
#include "services/partitioner/group/edge_exchange.h"
#include "services/partitioner/group/process_group.h"
#include "services/partitioner/group/tensor_bundle.h"

namespace espalier::partitioner {

// `shares`: this process's edges, which must have passed CheckEdges. `graph` is looked at for its edges only where
// options.balance has them, and then holds all of them. Memory: a partition's number and the weights under
// options.balance of every node, one bundle, and 8 bytes for each edge of the share, 10 of one type, and thereafter the
// process's neighbours (8 bytes an edge of the graph / group.size()). InvalidArgument: 2^32 nodes or more, or edges of
// a type in the share. Errors of the group and of the store.
Result<partition::Assignment> CutInTurns(ProcessGroup& group, const BundlePlace& place, const graph::SourceGraph& graph,
                                         const std::vector<EdgeShare>& shares,
                                         const partition::PartitionOptions& options);

}  // namespace espalier::partitioner
