// Builds the arrays of partition files (graph/partition.h) from a graph and an assignment.
#pragma once

#include <string>
#include <vector>

#include "services/graph/partition.h"
#include "services/graph/source_graph.h"
#include "services/partition/partition_layout.h"

namespace espalier::partition {

struct BuildOptions {
  int threads = 1;  // results do not depend on it
  // Edge column [m] that is the first sort key of in-edges in the edge types that have it. Empty: none.
  std::string time_column;
  // Node columns to copy from sources to edges (graph::SourceColumnName), in the edge types whose source type has them.
  // "original_id" copies the sources' original IDs.
  std::vector<std::string> source_columns;
};

// Returns all arrays of one partition. `layout` must be made from `graph`. Memory in addition to the partition: one
// number per in-edge of one edge type, and three numbers per edge of one part of a split. To bound memory, callers
// build, write and free one partition after another.
graph::Partition BuildPartition(const graph::SourceGraph& graph, const PartitionLayout& layout, PartitionId partition,
                                const BuildOptions& options);

// Returns InvalidArgument if no edge type has the time column or if it does not hold one number per edge.
Status CheckTimeColumn(const graph::SourceGraph& graph, const std::string& time_column);

// Returns InvalidArgument if no node type has one of the columns, if a column is given twice, if the name of its copy
// is too long, if the graph has an edge column with the name of a copy or of the column of source IDs, or if one of the
// columns has scales (SourceColumnWithScales).
Status CheckSourceColumns(const graph::SourceGraph& graph, const std::vector<std::string>& source_columns);

// Returns the error for a source column that has scales: edge columns have none.
Status SourceColumnWithScales(const std::string& name);

// All partitions of a graph in memory. Use it only for graphs that fit in memory twice.
struct PartitionSet {
  graph::PartitionBook book;
  std::vector<graph::Partition> partitions;
};
// Returns all partitions. Errors: those of CheckTimeColumn, CheckSourceColumns and MakePartitionLayout.
Result<PartitionSet> BuildAllPartitions(const graph::SourceGraph& graph, const Assignment& assignment,
                                        uint32_t num_partitions, const BuildOptions& options);

}  // namespace espalier::partition
