// Sends edges from the processes that read them to the processes that build their destinations' partitions. Each
// process reads one range of rows of every edge list, its share, and writes one bundle of the share's edges for each
// partition. Shares ascend by rank, so a partition that receives bundles in the order of ranks gets its edges in the
// order of the user's list.
#pragma once

#include <vector>

#include "services/graph/source_graph.h"
#include "services/partition/partition_layout.h"
#include "services/partition/partitioner.h"
#include "services/partitioner/group/process_group.h"
#include "services/partitioner/group/tensor_bundle.h"

namespace espalier::partitioner {

// Returns the rows [first, last) of a column as a view that keeps the column alive.
Tensor SliceRows(const Tensor& column, uint64_t first, uint64_t last);

// One process's share of an edge list.
struct EdgeShare {
  graph::EdgeSet edges;
  uint64_t first_row = 0;  // if `edges` has no original IDs, edge i has the original ID first_row + i
  uint64_t num_edges = 0;  // number of edges of the whole list
};
// Returns share `rank` of `size` shares of nearly equal length, as views of the list.
EdgeShare SelectShare(const graph::EdgeSet& edges, uint32_t rank, uint32_t size);
// Returns share `rank` of the edge list of each edge type: [edge type].
std::vector<EdgeShare> SelectShares(const graph::SourceGraph& source, uint32_t rank, uint32_t size);

// The counts and bundles that one process has sent.
struct SentEdges {
  std::vector<std::vector<uint64_t>> of_partition;  // [edge type][partition]: number of edges
  std::vector<uint64_t> max_original_id;            // [edge type]
  format::FileEntry out_degrees;         // bundle: by edge type, the out-degree of each source node within the share
  std::vector<format::FileEntry> edges;  // [partition]: bundle of the edges
};
std::string ToJson(const SentEdges& sent);
// Parses the result of ToJson. DataLoss if it is malformed or does not match the number of edge types and partitions.
Result<SentEdges> SentEdgesFromJson(const std::string& json, size_t num_edge_types, uint32_t num_partitions);

struct ExchangeOptions {
  uint32_t rank = 0;
  uint32_t num_partitions = 1;
  int threads = 1;
};

// The functions below use only the schema, nodes and splits of `graph`. `shares` contains, by edge type, the edges of
// the graph that are in this process's share.

// Writes the bundles of this process. The edges must have passed CheckEdges. Memory: 4 bytes per edge of the shares of
// all edge types, the out-degrees, and one bundle. InvalidArgument if a share has 2^32 edges or more.
Result<SentEdges> SendEdges(const BundlePlace& place, const graph::SourceGraph& graph,
                            const std::vector<EdgeShare>& shares, const partition::Assignment& assignment,
                            const ExchangeOptions& options);

// Sends the edges of this process and publishes its SentEdges as the text of the marker `marker` (process_group.h),
// unless this rank has published that marker before (for example before a restart). Then waits for the marker of each
// process. Returns the SentEdges by rank.
Result<std::vector<SentEdges>> ExchangeEdges(ProcessGroup& group, const std::string& marker, const BundlePlace& place,
                                             const graph::SourceGraph& graph, const std::vector<EdgeShare>& shares,
                                             const partition::Assignment& assignment, const ExchangeOptions& options);

// Returns the counts of the whole graph by edge type: the sums over all processes and, for max_original_id, the
// maximum. Reads the out-degrees of one process after another. DataLoss if the number of edges sent differs from the
// number of edges of the graph.
Result<std::vector<partition::EdgeCounts>> SumCounts(const BundlePlace& place, const graph::SourceGraph& graph,
                                                     const std::vector<EdgeShare>& shares,
                                                     const std::vector<SentEdges>& sent);

// Returns `graph` with only the in-edges of one partition as its edges, with original IDs and columns. Uses only the
// dtypes and row shapes of `shares`. Memory: the returned edges and the bundle of one process. DataLoss if a bundle
// does not have the expected tensors or has an edge whose endpoints do not exist.
Result<graph::SourceGraph> ReceiveEdges(const BundlePlace& place, const graph::SourceGraph& graph,
                                        const std::vector<EdgeShare>& shares, PartitionId partition,
                                        const std::vector<SentEdges>& sent);

// Returns DataLoss unless `partition` owns the destination of every received edge. The assignment must cover all
// nodes of the graph.
Status CheckDestinations(const graph::SourceGraph& received, const partition::Assignment& assignment,
                         PartitionId partition);

}  // namespace espalier::partitioner
