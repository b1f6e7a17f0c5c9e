// From a graph and an assignment to the arrays that partition files hold (graph/partition.h).
#pragma once

#include <string>
#include <vector>

#include "services/graph/partition.h"
#include "services/graph/source_graph.h"
#include "services/partition/partition_layout.h"

namespace espalier::partition {

struct BuildOptions {
  int threads = 1;  // results do not depend on it
  // Edge column [m] that orders in-edges first, in the edge types that have it. Empty: none.
  std::string time_column;
  // Node columns that edges get a copy of, their source's (graph::SourceColumnName), in the edge types whose source
  // type has them; "original_id" is the sources' original ids.
  std::vector<std::string> source_columns;
};

// One partition's arrays, all of them. `graph` is the one that the layout was made from. Besides the partition itself
// it needs memory for one number per edge of one edge type, and for three per edge of a part of a split; so build,
// write and drop one after another.
graph::Partition BuildPartition(const graph::SourceGraph& graph, const PartitionLayout& layout, PartitionId partition,
                                const BuildOptions& options);

// InvalidArgument where no edge type has the time column, or where it is not one number an edge.
Status CheckTimeColumn(const graph::SourceGraph& graph, const std::string& time_column);

// InvalidArgument where no node type has one of the columns, where one is named twice or its copy's name is too long,
// or where an edge column of the graph has the name of one that would be made, or of the sources' ids.
Status CheckSourceColumns(const graph::SourceGraph& graph, const std::vector<std::string>& source_columns);

// The whole graph at once, for graphs that fit twice.
struct PartitionSet {
  graph::PartitionBook book;
  std::vector<graph::Partition> partitions;
};
Result<PartitionSet> BuildAllPartitions(const graph::SourceGraph& graph, const Assignment& assignment,
                                        uint32_t num_partitions, const BuildOptions& options);

}  // namespace espalier::partition
