// The numbers that a partitioning gives to nodes: original -> global ids, and the book of who owns what.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/graph/out_degree_column.h"
#include "services/graph/partition_book.h"
#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

// What all partitions of a graph have in common; built once, then each partition is built from it.
// Owned nodes of a partition are numbered in original order; an edge belongs to its destination's owner.
struct PartitionLayout {
  graph::PartitionBook book;
  // By NodeTypeId, [nodes]: the global id of each original id. U32 where the type has fewer than 2^32 nodes.
  std::vector<Tensor> global_ids;
  // By EdgeTypeId, [source nodes]: edges that leave each original id. U32 where the type has fewer than 2^32 edges.
  std::vector<Tensor> out_degrees;
  // By EdgeTypeId: the dtype of original edge ids in all partitions.
  std::vector<DType> original_edge_id_dtypes;
};

// What edges of one type, all of them or a part, tell a layout. Those of parts add up.
struct EdgeCounts {
  std::vector<uint64_t> of_partition;  // [num_partitions]: by their destination's owner
  uint64_t max_original_id = 0;        // 0 where there are no edges
  Tensor out_degree;                   // U32 or U64 [source nodes]
};

// The dtype of out-degrees of a type with so many edges in the whole graph.
DType OutDegreeDType(uint64_t num_edges);

struct CountOptions {
  uint32_t num_partitions = 1;
  uint64_t num_source_nodes = 0;
  DType out_degree = DType::kU32;  // OutDegreeDType
  uint64_t first_row = 0;          // of the first edge in the type's edge list: its original id where edges have none
  int threads = 1;
};
// `edges` must have passed CheckEdges.
EdgeCounts CountEdges(const graph::EdgeSet& edges, const std::vector<uint32_t>& owner_of_destination,
                      const CountOptions& options);

// The layout of a graph whose edges have been counted, by EdgeTypeId: only nodes and schema of `graph` are looked at.
// InvalidArgument where the assignment does not fit them or num_partitions.
Result<PartitionLayout> MakeLayout(const graph::SourceGraph& graph, const Assignment& assignment,
                                   uint32_t num_partitions, std::vector<EdgeCounts> counts);

// InvalidArgument for columns under names that partitions use themselves, or that have not one row a node.
Status CheckNodeColumns(const graph::SourceGraph& graph);

// One pass over all edges. The graph should have passed ValidateSourceGraph; what would make a partition wrong is
// refused here all the same: InvalidArgument for an assignment that does not fit the graph or num_partitions, for
// columns under names that partitions use themselves; OutOfRange for edges whose ends do not exist.
Result<PartitionLayout> MakePartitionLayout(const graph::SourceGraph& graph, const Assignment& assignment,
                                            uint32_t num_partitions, int threads);

// InvalidArgument where the assignment does not fit the graph or names partitions that do not exist.
Status CheckAssignment(const graph::SourceGraph& graph, const Assignment& assignment, uint32_t num_partitions);

using graph::OutDegreeColumnName;

// The original ids [first, last) of one type whose directory partition `partition` of `num_partitions` holds.
struct DirectoryRange {
  uint64_t first = 0;
  uint64_t last = 0;
};
DirectoryRange DirectoryRangeFor(uint64_t num_nodes, uint32_t num_partitions, PartitionId partition);

}  // namespace espalier::partition
