// Edges on their way from the processes that read them to those that build their destinations' partitions. A process
// reads one range of every edge list; of that range it leaves one bundle for each partition. Ranges ascend with ranks,
// so the edges that a partition receives, in the order of ranks, ascend by their place in the user's list.
#pragma once

#include <vector>

#include "services/graph/source_graph.h"
#include "services/partition/partition_layout.h"
#include "services/partition/partitioner.h"
#include "services/partitioner/group/process_group.h"
#include "services/partitioner/group/tensor_bundle.h"

namespace espalier::partitioner {

// The rows [first, last) of a column, as a view that keeps it alive.
Tensor SliceRows(const Tensor& column, uint64_t first, uint64_t last);

// What one process has of an edge list.
struct EdgeShare {
  graph::EdgeSet edges;
  uint64_t first_row = 0;  // the original id of the first edge, where edges have none: the others' follow
  uint64_t num_edges = 0;  // of the list, all processes together
};
// Share `rank` of `size`, as views of the list.
EdgeShare SelectShare(const graph::EdgeSet& edges, uint32_t rank, uint32_t size);
std::vector<EdgeShare> SelectShares(const graph::SourceGraph& source, uint32_t rank, uint32_t size);  // [edge type]

// What one process has sent.
struct SentEdges {
  std::vector<std::vector<uint64_t>> of_partition;  // [edge type][partition]: edges
  std::vector<uint64_t> max_original_id;            // [edge type]
  format::FileEntry out_degrees;                    // [edge type]: of all source nodes, over the share
  std::vector<format::FileEntry> edges;             // [partition]
};
std::string ToJson(const SentEdges& sent);
// DataLoss for what ToJson has not written for such a graph.
Result<SentEdges> SentEdgesFromJson(const std::string& json, size_t num_edge_types, uint32_t num_partitions);

struct ExchangeOptions {
  uint32_t rank = 0;
  uint32_t num_partitions = 1;
  int threads = 1;
};

// In what follows, of `graph` schema, nodes and splits are looked at; its edges are in the shares, by edge type.

// Memory: 4 bytes an edge of the share (all edge types), the out-degrees, and one bundle. The edges must have passed
// CheckEdges. InvalidArgument: a share of 2^32 edges or more.
Result<SentEdges> SendEdges(const BundlePlace& place, const graph::SourceGraph& graph,
                            const std::vector<EdgeShare>& shares, const partition::Assignment& assignment,
                            const ExchangeOptions& options);

// Sends, unless this process or the one that had its rank before has done it under the marker `what`; and waits for
// what all have sent, by rank.
Result<std::vector<SentEdges>> ExchangeEdges(ProcessGroup& group, const std::string& what, const BundlePlace& place,
                                             const graph::SourceGraph& graph, const std::vector<EdgeShare>& shares,
                                             const partition::Assignment& assignment, const ExchangeOptions& options);

// What all processes have sent, as the whole graph's: the out-degrees are read and summed, a process's after another's.
// DataLoss where that is not every edge once, by their number.
Result<std::vector<partition::EdgeCounts>> SumCounts(const BundlePlace& place, const graph::SourceGraph& graph,
                                                     const std::vector<EdgeShare>& shares,
                                                     const std::vector<SentEdges>& sent);

// `graph` with the in-edges of one partition as its only edges, original ids and columns included. Memory: they, and
// one process's bundle. DataLoss: a bundle has other tensors than that, or an edge between nodes that do not exist.
Result<graph::SourceGraph> ReceiveEdges(const BundlePlace& place, const graph::SourceGraph& graph,
                                        const std::vector<EdgeShare>& shares, PartitionId partition,
                                        const std::vector<SentEdges>& sent);

// DataLoss: an edge that has been received for a partition ends in a node of another one. Every node must be in the
// assignment.
Status CheckDestinations(const graph::SourceGraph& received, const partition::Assignment& assignment,
                         PartitionId partition);

}  // namespace espalier::partitioner
