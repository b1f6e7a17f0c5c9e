// The numbering of nodes and edges in a partitioning: the map from original to global IDs and the partition book.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/graph/out_degree_column.h"
#include "services/graph/partition_book.h"
#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

// The data that all partitions of a graph share. It is built once; each partition is then built from it. The nodes of a
// partition are numbered in original order. An edge belongs to the partition that owns its destination.
struct PartitionLayout {
  graph::PartitionBook book;
  // By NodeTypeId, [nodes]: the global ID of each original ID. U32 if the type has fewer than 2^32 nodes, else U64.
  std::vector<Tensor> global_ids;
  // By EdgeTypeId, [source nodes]: the out-degree of each original ID. U32 if the type has fewer than 2^32 edges, else
  // U64.
  std::vector<Tensor> out_degrees;
  // By EdgeTypeId: the dtype of original edge IDs in all partitions, U32 or U64.
  std::vector<DType> original_edge_id_dtypes;
};

// Counts over the edges of one type or over a part of them. To combine parts, add their counts and take the maximum of
// max_original_id.
struct EdgeCounts {
  std::vector<uint64_t> of_partition;  // [num_partitions]: edges by the owner of their destination
  uint64_t max_original_id = 0;        // 0 if there are no edges
  Tensor out_degree;                   // U32 or U64 [source nodes]
};

// Returns the dtype of out-degrees for a type with `num_edges` edges in the whole graph.
DType OutDegreeDType(uint64_t num_edges);

struct CountOptions {
  uint32_t num_partitions = 1;
  uint64_t num_source_nodes = 0;
  DType out_degree = DType::kU32;  // OutDegreeDType of the type's edges in the whole graph
  uint64_t first_row = 0;          // row of edges[0] in the type's edge list; without original IDs, rows are the IDs
  int threads = 1;
};
// Returns the counts over `edges`, which must have passed CheckEdges. `owner_of_destination` is by original ID.
EdgeCounts CountEdges(const graph::EdgeSet& edges, const std::vector<uint32_t>& owner_of_destination,
                      const CountOptions& options);

// Returns the layout of a graph from the counts of its edges by EdgeTypeId. Reads only the nodes and the schema of
// `graph`. InvalidArgument if the assignment does not match the nodes or num_partitions, or if a partition would own
// 2^32 or more nodes of a type.
Result<PartitionLayout> MakeLayout(const graph::SourceGraph& graph, const Assignment& assignment,
                                   uint32_t num_partitions, std::vector<EdgeCounts> counts);

// Returns InvalidArgument for columns with names reserved for partitions and for columns without one row per node.
Status CheckNodeColumns(const graph::SourceGraph& graph);

// Returns the layout of a graph. Reads all edges twice: to check them and to count them. The graph should have passed
// ValidateSourceGraph; what would corrupt a partition is checked again. Errors: those of CheckAssignment,
// CheckNodeColumns, CheckEdges and CheckSplits (input_checks.h), and MakeLayout.
Result<PartitionLayout> MakePartitionLayout(const graph::SourceGraph& graph, const Assignment& assignment,
                                            uint32_t num_partitions, int threads);

// Returns InvalidArgument if the assignment does not match the graph or contains partitions that do not exist.
Status CheckAssignment(const graph::SourceGraph& graph, const Assignment& assignment, uint32_t num_partitions);

using graph::OutDegreeColumnName;

// The range [first, last) of original IDs of one type that the directory slice of one partition covers
// (graph::DirectorySlice).
struct DirectoryRange {
  uint64_t first = 0;
  uint64_t last = 0;
};
// Returns range `partition` of `num_partitions` ranges of nearly equal size: the first starts at 0, the last ends at
// `num_nodes`. Partitioner processes that share the work on a graph also divide rows and vertices in this way, with
// their ranks instead of partitions.
DirectoryRange DirectoryRangeFor(uint64_t num_nodes, uint32_t num_partitions, PartitionId partition);

}  // namespace espalier::partition
