// Builds the arrays of partition files (graph/partition.h) from a graph and an assignment.
#pragma once

#include <string>
#include <vector>

#include "services/graph/partition.h"
#include "services/graph/source_graph.h"
#include "services/partition/partition_layout.h"

namespace espalier::partition {

struct BuildOptions {
  int threads = 1;  // number of threads; results do not depend on it
  // Name of the edge column [m] that is the first sort key of in-edges, in the edge types that have it. Empty: none.
  std::string time_column;
  // Node columns that are copied from the source node of each edge to the edge column graph::SourceColumnName(name), in
  // the edge types whose source type has the column. "original_id" copies the source nodes' original IDs.
  std::vector<std::string> source_columns;
};

// Returns all arrays of one partition. `layout` must be made from `graph`, and the columns in `options` must have
// passed CheckTimeColumn and CheckSourceColumns. Memory in addition to the partition: one number (with source columns,
// two) per in-edge of one edge type, and a few numbers per source-destination pair in one part of an edge split. To
// bound memory, callers build, write and free one partition after another.
graph::Partition BuildPartition(const graph::SourceGraph& graph, const PartitionLayout& layout, PartitionId partition,
                                const BuildOptions& options);

// Returns InvalidArgument if no edge type has the time column, or if a time column does not contain one number per
// edge. OK if `time_column` is empty.
Status CheckTimeColumn(const graph::SourceGraph& graph, const std::string& time_column);

// Returns InvalidArgument if a column exists in no node type, is given twice or has scales
// (SourceColumnWithScalesError), if the name of a copy is too long, or if the graph has an edge column with the name of
// a copy or with the name "source.original_id".
Status CheckSourceColumns(const graph::SourceGraph& graph, const std::vector<std::string>& source_columns);

// Returns the error for a source column that has scales, as features in I8 have: edge columns cannot have scales.
Status SourceColumnWithScalesError(const std::string& name);

// All partitions of a graph in memory. Use it only for graphs that fit in memory twice.
struct PartitionSet {
  graph::PartitionBook book;
  std::vector<graph::Partition> partitions;
};
// Builds all partitions. Errors: those of CheckTimeColumn, CheckSourceColumns and MakePartitionLayout.
Result<PartitionSet> BuildAllPartitions(const graph::SourceGraph& graph, const Assignment& assignment,
                                        uint32_t num_partitions, const BuildOptions& options);

}  // namespace espalier::partition
