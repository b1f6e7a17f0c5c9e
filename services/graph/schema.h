// The types of a graph. A homogeneous graph has one node type and one edge type; nothing else about it is special.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/graph/ids.h"

namespace espalier::graph {

// A canonical edge type, DGL's (source type, relation, destination type).
struct CanonicalEdgeType {
  std::string source;
  std::string relation;
  std::string destination;

  // "author:writes:paper": the spelling in documents, files and metrics.
  std::string Name() const { return source + ":" + relation + ":" + destination; }
  friend bool operator==(const CanonicalEdgeType&, const CanonicalEdgeType&) = default;
};

// Parses "author:writes:paper".
Result<CanonicalEdgeType> ParseCanonicalEdgeType(std::string_view name);

// Names of node types, relations and columns: [A-Za-z0-9_][A-Za-z0-9_.-]{0,127}. They become keys in files.
Status CheckName(std::string_view kind, std::string_view name);

// "author, paper", for messages; the first forty of more; "none".
std::string JoinNames(const std::vector<std::string>& names);

// Node and edge types in the order of their ids: sorted by name, so that ids do not depend on the order in which
// files were found. Immutable after Make; thread-safe.
class GraphSchema {
 public:
  GraphSchema() = default;
  // Sorts; InvalidArgument on bad names, duplicates, or an edge type whose end is not a node type.
  static Result<GraphSchema> Make(std::vector<std::string> node_types, std::vector<CanonicalEdgeType> edge_types);

  const std::vector<std::string>& node_types() const { return node_types_; }
  const std::vector<CanonicalEdgeType>& edge_types() const { return edge_types_; }
  size_t num_node_types() const { return node_types_.size(); }
  size_t num_edge_types() const { return edge_types_.size(); }
  bool is_homogeneous() const { return node_types_.size() == 1 && edge_types_.size() <= 1; }

  // InvalidArgument: "edge type 7 does not exist; the graph has 3".
  Status CheckNodeType(NodeTypeId type) const;
  Status CheckEdgeType(EdgeTypeId type) const;

  // Of types that exist.
  const std::string& NodeTypeName(NodeTypeId type) const { return node_types_[type.value]; }
  const CanonicalEdgeType& EdgeType(EdgeTypeId type) const { return edge_types_[type.value]; }
  NodeTypeId SourceOf(EdgeTypeId type) const { return source_[type.value]; }
  NodeTypeId DestinationOf(EdgeTypeId type) const { return destination_[type.value]; }

  // NotFound names the types that exist.
  Result<NodeTypeId> FindNodeType(std::string_view name) const;
  // "author:writes:paper", or "writes" where that relation is unique (InvalidArgument where it is not).
  Result<EdgeTypeId> FindEdgeType(std::string_view name) const;
  // As JoinNames.
  std::string NodeTypeList() const;
  std::string EdgeTypeList() const;
  // The one that there is: what a user means who names none. InvalidArgument names them where there are several.
  Result<NodeTypeId> OnlyNodeType() const;
  Result<EdgeTypeId> OnlyEdgeType() const;
  // The edge types into a node type, ascending.
  std::vector<EdgeTypeId> EdgeTypesInto(NodeTypeId destination) const;

  friend bool operator==(const GraphSchema&, const GraphSchema&) = default;

 private:
  std::vector<std::string> node_types_;
  std::vector<CanonicalEdgeType> edge_types_;
  std::vector<NodeTypeId> source_;       // by edge type
  std::vector<NodeTypeId> destination_;  // by edge type
};

}  // namespace espalier::graph
