// The names that a graph brings: types, columns and splits, as its partitions will have them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "services/format/manifest.h"
#include "services/graph/source_graph.h"
#include "services/job/dist_training.h"

namespace espalier::partitioning {

struct GraphNames {
  graph::GraphSchema schema;
  std::vector<std::set<std::string>> node_columns;  // by NodeTypeId; without original ids
  std::vector<std::set<std::string>> edge_columns;  // by EdgeTypeId; copies of sources' columns included
  std::vector<std::set<std::string>> node_splits;   // names, by NodeTypeId
  std::vector<std::set<std::string>> edge_splits;   // names, by EdgeTypeId
};

// Of a source as graph.preprocess and graph.partitions will have it: with the relations that addReverseEdges makes.
// Looks at no edge. InvalidArgument where such a relation is there already.
Result<GraphNames> NamesOf(const graph::SourceGraph& source, const job::Graph& graph);

// Of a partitioning.
GraphNames NamesOf(const format::Manifest& manifest);

}  // namespace espalier::partitioning
