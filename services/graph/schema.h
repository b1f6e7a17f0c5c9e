// The node and edge types of a graph. A homogeneous graph has one node type and at most one edge type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/graph/ids.h"

namespace espalier::graph {

// A canonical edge type as in DGL: (source type, relation, destination type).
struct CanonicalEdgeType {
  std::string source;
  std::string relation;
  std::string destination;

  // Returns the form used in documents, files and metrics: "author:writes:paper".
  std::string Name() const { return source + ":" + relation + ":" + destination; }
  friend bool operator==(const CanonicalEdgeType&, const CanonicalEdgeType&) = default;
};

// Parses a canonical name such as "author:writes:paper". InvalidArgument for other text.
Result<CanonicalEdgeType> ParseCanonicalEdgeType(std::string_view name);

// Checks a name of a node type, relation or column, which becomes a key in files: [A-Za-z0-9_][A-Za-z0-9_.-]{0,127}.
// `kind` describes it in the error.
Status CheckName(std::string_view kind, std::string_view name);

// Returns the names for a message: "author, paper"; only the first 40 of a longer list; "none" for an empty one.
std::string JoinNames(const std::vector<std::string>& names);

// The node and edge types in the order of their IDs. Node types are sorted by name, edge types by source, then by
// relation, then by destination, so that IDs do not depend on the order in which files are found. Immutable;
// thread-safe.
class GraphSchema {
 public:
  GraphSchema() = default;
  // Returns the schema of these types, which may be in any order. InvalidArgument for invalid names, duplicates, or an
  // edge type whose source or destination is not a node type.
  static Result<GraphSchema> Make(std::vector<std::string> node_types, std::vector<CanonicalEdgeType> edge_types);

  const std::vector<std::string>& node_types() const { return node_types_; }
  const std::vector<CanonicalEdgeType>& edge_types() const { return edge_types_; }
  size_t num_node_types() const { return node_types_.size(); }
  size_t num_edge_types() const { return edge_types_.size(); }
  bool is_homogeneous() const { return node_types_.size() == 1 && edge_types_.size() <= 1; }

  // Return InvalidArgument if the type does not exist: "edge type 7 does not exist; the number of edge types is 3".
  Status CheckNodeType(NodeTypeId type) const;
  Status CheckEdgeType(EdgeTypeId type) const;

  // The following functions require a type that exists (not checked).
  const std::string& NodeTypeName(NodeTypeId type) const { return node_types_[type.value]; }
  const CanonicalEdgeType& EdgeType(EdgeTypeId type) const { return edge_types_[type.value]; }
  NodeTypeId SourceOf(EdgeTypeId type) const { return source_[type.value]; }
  NodeTypeId DestinationOf(EdgeTypeId type) const { return destination_[type.value]; }

  // Returns the node type with this name. NotFound lists the existing types.
  Result<NodeTypeId> FindNodeType(std::string_view name) const;
  // Returns the edge type for "author:writes:paper", or for "writes" if the relation is unique. NotFound lists the
  // existing types; InvalidArgument means that the relation is ambiguous.
  Result<EdgeTypeId> FindEdgeType(std::string_view name) const;
  // Return the names of all types for a message, as JoinNames does.
  std::string NodeTypeList() const;
  std::string EdgeTypeList() const;
  // Return the only type, the default when the user names none. InvalidArgument if there are none or several; the error
  // lists them.
  Result<NodeTypeId> OnlyNodeType() const;
  Result<EdgeTypeId> OnlyEdgeType() const;
  // Returns the edge types with this destination type, ascending.
  std::vector<EdgeTypeId> EdgeTypesInto(NodeTypeId destination) const;

  friend bool operator==(const GraphSchema&, const GraphSchema&) = default;

 private:
  std::vector<std::string> node_types_;
  std::vector<CanonicalEdgeType> edge_types_;
  std::vector<NodeTypeId> source_;       // by edge type
  std::vector<NodeTypeId> destination_;  // by edge type
};

}  // namespace espalier::graph
