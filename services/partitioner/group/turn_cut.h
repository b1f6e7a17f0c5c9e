// The algorithm Streaming, run by several processes. The assignment is the same as that of one process
// (partition/streaming_partitioner.cc), but each process stores only the neighbors of its share of the nodes. The
// stream order of the nodes is divided into ranges, one per process. A process receives the neighbors of the nodes in
// its range from the processes that read the edges. In each pass, processes take turns: a process assigns the nodes of
// its range and publishes their partitions, and all other processes apply them before the next turn.
#pragma once

#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"
#include "services/partitioner/group/edge_exchange.h"
#include "services/partitioner/group/process_group.h"
#include "services/partitioner/group/tensor_bundle.h"

namespace espalier::partitioner {

// Returns the assignment of all nodes. `shares` are this process's edges; their endpoints must exist in `graph`. The
// edges of `graph` are used only if options.balance contains kEdges; `graph` must then have all edges. Memory: for
// every node its partition and its weights under options.balance; one bundle; while sending, 8 bytes per edge of the
// share and 2 bytes per edge of its largest type; afterwards this process's neighbors, 8 bytes per edge of the graph
// divided by group.size(). InvalidArgument if the graph has 2^32 nodes or more, or if a share has 2^32 or more edges of
// one type. Errors of the group and of the store.
Result<partition::Assignment> CutInTurns(ProcessGroup& group, const BundlePlace& place, const graph::SourceGraph& graph,
                                         const std::vector<EdgeShare>& shares,
                                         const partition::PartitionOptions& options);

}  // namespace espalier::partitioner
