// Node types are found by binary search in their sorted names. Edge types are found by linear search, because a
// relation alone may be ambiguous.
#include "services/graph/schema.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "services/base/ascii.h"

namespace espalier::graph {
namespace {

constexpr size_t kMaxNameLength = 128;
constexpr size_t kMaxTypes = std::numeric_limits<uint16_t>::max();

// The largest number of names that a message lists. A knowledge graph has hundreds of relations.
constexpr size_t kMaxListed = 40;

Status NoSuchType(const std::string& kind, size_t type, size_t num_types) {
  return InvalidArgument(kind + " " + std::to_string(type) + " does not exist; the number of " + kind + "s is " +
                         std::to_string(num_types));
}

// "expected a node type, because the graph has 2: author, paper"
Status NotUniqueError(const std::string& one, const std::vector<std::string>& names) {
  return InvalidArgument("expected " + one + ", because the graph has " + std::to_string(names.size()) + ": " +
                         JoinNames(names));
}

std::vector<std::string> ListNames(const std::vector<CanonicalEdgeType>& types) {
  std::vector<std::string> names;
  for (const CanonicalEdgeType& type : types) names.push_back(type.Name());
  return names;
}

auto SortKey(const CanonicalEdgeType& type) { return std::tie(type.source, type.relation, type.destination); }

Status CheckEdgeTypeNames(const CanonicalEdgeType& type) {
  RETURN_IF_ERROR(CheckName("node type", type.source));
  RETURN_IF_ERROR(CheckName("relation", type.relation));
  return CheckName("node type", type.destination);
}

// Returns the position of `name` in the sorted `names`, or names.size() if it is not there.
size_t FindPosition(const std::vector<std::string>& names, std::string_view name) {
  const auto at = std::lower_bound(names.begin(), names.end(), name);
  return at != names.end() && *at == name ? static_cast<size_t>(at - names.begin()) : names.size();
}

}  // namespace

std::string JoinNames(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMaxListed); ++i) text += (text.empty() ? "" : ", ") + names[i];
  if (names.size() > kMaxListed) text += ", ... and " + std::to_string(names.size() - kMaxListed) + " more";
  return text.empty() ? "none" : text;
}

Result<CanonicalEdgeType> ParseCanonicalEdgeType(std::string_view name) {
  const size_t first = name.find(':');
  const size_t second = first == std::string_view::npos ? first : name.find(':', first + 1);
  if (second == std::string_view::npos || name.find(':', second + 1) != std::string_view::npos) {
    return InvalidArgument("edge type '" + std::string(name) + "': expected 'source:relation:destination'");
  }
  CanonicalEdgeType type{std::string(name.substr(0, first)), std::string(name.substr(first + 1, second - first - 1)),
                         std::string(name.substr(second + 1))};
  RETURN_IF_ERROR(CheckEdgeTypeNames(type).While("edge type '" + std::string(name) + "'"));
  return type;
}

Status CheckName(std::string_view kind, std::string_view name) {
  const auto make_error = [&](const std::string& reason) {
    return InvalidArgument(std::string(kind) + " '" + std::string(name.substr(0, kMaxNameLength)) + "' " + reason);
  };
  if (name.empty()) return make_error("is empty: expected a name");
  if (name.size() > kMaxNameLength)
    return make_error("... has more than " + std::to_string(kMaxNameLength) + " characters");
  const bool is_valid = IsWordCharacter(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
                          return IsWordCharacter(c) || c == '.' || c == '-';
                        });
  if (!is_valid)
    return make_error(
        "is not a name: expected only letters, digits, '_', '.' and '-', with no '.' or '-' at the beginning");
  return {};
}

Result<GraphSchema> GraphSchema::Make(std::vector<std::string> node_types, std::vector<CanonicalEdgeType> edge_types) {
  if (node_types.size() > kMaxTypes || edge_types.size() > kMaxTypes) {
    return InvalidArgument("the graph has " + std::to_string(node_types.size()) + " node types and " +
                           std::to_string(edge_types.size()) + " edge types: expected at most " +
                           std::to_string(kMaxTypes) + " of each");
  }
  std::sort(node_types.begin(), node_types.end());
  std::sort(edge_types.begin(), edge_types.end(), [](const auto& a, const auto& b) { return SortKey(a) < SortKey(b); });
  for (const std::string& name : node_types) RETURN_IF_ERROR(CheckName("node type", name));
  if (const auto twice = std::adjacent_find(node_types.begin(), node_types.end()); twice != node_types.end()) {
    return InvalidArgument("node type '" + *twice + "' is declared twice");
  }
  if (const auto twice = std::adjacent_find(edge_types.begin(), edge_types.end()); twice != edge_types.end()) {
    return InvalidArgument("edge type '" + twice->Name() + "' is declared twice");
  }
  GraphSchema schema;
  for (const CanonicalEdgeType& type : edge_types) {
    RETURN_IF_ERROR(CheckEdgeTypeNames(type).While("edge type '" + type.Name() + "'"));
    for (const std::string* end : {&type.source, &type.destination}) {
      const size_t position = FindPosition(node_types, *end);
      if (position == node_types.size()) {
        return InvalidArgument("edge type '" + type.Name() + "': there is no node type '" + *end +
                               "'; there are: " + JoinNames(node_types));
      }
      (end == &type.source ? schema.source_ : schema.destination_).emplace_back(static_cast<uint16_t>(position));
    }
  }
  schema.node_types_ = std::move(node_types);
  schema.edge_types_ = std::move(edge_types);
  return schema;
}

Status GraphSchema::CheckNodeType(NodeTypeId type) const {
  return type.value < num_node_types() ? Status() : NoSuchType("node type", type.value, num_node_types());
}

Status GraphSchema::CheckEdgeType(EdgeTypeId type) const {
  return type.value < num_edge_types() ? Status() : NoSuchType("edge type", type.value, num_edge_types());
}

Result<NodeTypeId> GraphSchema::FindNodeType(std::string_view name) const {
  const size_t position = FindPosition(node_types_, name);
  if (position == node_types_.size()) {
    return NotFound("there is no node type '" + std::string(name) + "'; there are: " + JoinNames(node_types_));
  }
  return NodeTypeId(static_cast<uint16_t>(position));
}

Result<EdgeTypeId> GraphSchema::FindEdgeType(std::string_view name) const {
  std::vector<size_t> matches;
  for (size_t i = 0; i < edge_types_.size(); ++i) {
    if (edge_types_[i].relation == name || edge_types_[i].Name() == name) matches.push_back(i);
  }
  if (matches.empty()) {
    return NotFound("there is no edge type '" + std::string(name) +
                    "'; there are: " + JoinNames(ListNames(edge_types_)));
  }
  if (matches.size() > 1) {
    std::vector<CanonicalEdgeType> same;
    for (const size_t i : matches) same.push_back(edge_types_[i]);
    return InvalidArgument("relation '" + std::string(name) +
                           "' is not unique; write one of: " + JoinNames(ListNames(same)));
  }
  return EdgeTypeId(static_cast<uint16_t>(matches[0]));
}

std::string GraphSchema::NodeTypeList() const { return JoinNames(node_types_); }

std::string GraphSchema::EdgeTypeList() const { return JoinNames(ListNames(edge_types_)); }

Result<NodeTypeId> GraphSchema::OnlyNodeType() const {
  if (node_types_.size() == 1) return NodeTypeId(0);
  return NotUniqueError("a node type", node_types_);
}

Result<EdgeTypeId> GraphSchema::OnlyEdgeType() const {
  if (edge_types_.size() == 1) return EdgeTypeId(0);
  return NotUniqueError("an edge type", ListNames(edge_types_));
}

std::vector<EdgeTypeId> GraphSchema::EdgeTypesInto(NodeTypeId destination) const {
  std::vector<EdgeTypeId> types;
  for (size_t i = 0; i < destination_.size(); ++i) {
    if (destination_[i] == destination) types.emplace_back(static_cast<uint16_t>(i));
  }
  return types;
}

}  // namespace espalier::graph
