// `first[type]` lists the first global ID of each partition, and the number of IDs as the last entry; a binary search
// in it finds the owner of an ID. Homogeneous IDs are consecutive over (partition, type) in this order, so a second
// list, with the first homogeneous ID of each (partition, type), converts between global and homogeneous IDs.
#include "services/graph/partition_book.h"

#include <algorithm>
#include <limits>

namespace espalier::graph {
namespace {

using Ranges = std::vector<std::vector<uint64_t>>;  // [type][partition]

Status CheckRanges(const std::string& what, const std::string& type_name, const std::vector<uint64_t>& first,
                   size_t num_boundaries) {
  const std::string where = what + " ranges of '" + type_name + "'";
  if (first.size() != num_boundaries) {
    return InvalidArgument(where + " have " + std::to_string(first.size()) + " boundaries, expected " +
                           std::to_string(num_boundaries));
  }
  if (first.front() != 0)
    return InvalidArgument(where + " start with " + std::to_string(first.front()) + ", expected 0");
  if (!std::is_sorted(first.begin(), first.end())) return InvalidArgument(where + " are not ascending");
  return {};
}

// Returns the first homogeneous ID of each (partition, type) in this order, and one more entry for the end.
Result<std::vector<uint64_t>> ComputeHomogeneousFirst(const Ranges& first, size_t num_partitions) {
  std::vector<uint64_t> starts = {0};
  for (size_t p = 0; p < num_partitions; ++p) {
    for (const std::vector<uint64_t>& of_type : first) {
      uint64_t next = 0;
      if (__builtin_add_overflow(starts.back(), of_type[p + 1] - of_type[p], &next)) {
        return InvalidArgument("the partition book has 2^64 or more ids");
      }
      starts.push_back(next);
    }
  }
  return starts;
}

// Returns the index of the last range that starts at or before `id`. If a range contains `id`, it is this one, because
// the next range starts after `id`.
size_t FindRange(const std::vector<uint64_t>& first, uint64_t id) {
  return static_cast<size_t>(std::upper_bound(first.begin(), first.end(), id) - first.begin()) - 1;
}

// Returns the number of IDs of all types.
uint64_t SumOfLast(const Ranges& first) {
  uint64_t sum = 0;
  for (const std::vector<uint64_t>& of_type : first) sum += of_type.back();
  return sum;
}

uint64_t ToHomogeneousId(const Ranges& first, const std::vector<uint64_t>& homogeneous_first, size_t type,
                         uint64_t id) {
  ESPALIER_CHECK(id < first[type].back()) << "id " << id << " of type " << type;
  const size_t partition = FindRange(first[type], id);
  return homogeneous_first[partition * first.size() + type] + (id - first[type][partition]);
}

struct TypedId {
  uint16_t type;
  uint64_t id;
};
TypedId ToTypedId(const Ranges& first, const std::vector<uint64_t>& homogeneous_first, uint64_t homogeneous_id) {
  ESPALIER_CHECK(homogeneous_id < homogeneous_first.back()) << "homogeneous id " << homogeneous_id;
  const size_t range = FindRange(homogeneous_first, homogeneous_id);
  const size_t partition = range / first.size(), type = range % first.size();
  return {static_cast<uint16_t>(type), first[type][partition] + (homogeneous_id - homogeneous_first[range])};
}

}  // namespace

Result<PartitionBook> PartitionBook::Make(GraphSchema schema, std::vector<std::vector<uint64_t>> node_first,
                                          std::vector<std::vector<uint64_t>> edge_first) {
  if (node_first.size() != schema.num_node_types() || edge_first.size() != schema.num_edge_types()) {
    return InvalidArgument("the partition book has ranges of " + std::to_string(node_first.size()) + " node and " +
                           std::to_string(edge_first.size()) + " edge types: expected those of the schema, " +
                           std::to_string(schema.num_node_types()) + " and " + std::to_string(schema.num_edge_types()));
  }
  if (node_first.empty()) return InvalidArgument("a partition book needs a node type");
  const size_t num_boundaries = node_first[0].size();
  if (num_boundaries < 2 || num_boundaries - 1 > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("a partition book needs at least one partition and at most 2^32 - 1");
  }
  for (size_t t = 0; t < node_first.size(); ++t) {
    RETURN_IF_ERROR(CheckRanges("node", schema.node_types()[t], node_first[t], num_boundaries));
    for (size_t p = 0; p + 1 < num_boundaries; ++p) {
      if (node_first[t][p + 1] - node_first[t][p] > std::numeric_limits<uint32_t>::max()) {
        return InvalidArgument("partition " + std::to_string(p) + " owns 2^32 or more nodes of '" +
                               schema.node_types()[t] + "': use more partitions");
      }
    }
  }
  for (size_t t = 0; t < edge_first.size(); ++t) {
    RETURN_IF_ERROR(CheckRanges("edge", schema.edge_types()[t].Name(), edge_first[t], num_boundaries));
  }
  PartitionBook book;
  book.num_partitions_ = static_cast<uint32_t>(num_boundaries - 1);
  ASSIGN_OR_RETURN(book.homogeneous_node_first_, ComputeHomogeneousFirst(node_first, book.num_partitions_));
  ASSIGN_OR_RETURN(book.homogeneous_edge_first_, ComputeHomogeneousFirst(edge_first, book.num_partitions_));
  book.schema_ = std::move(schema);
  book.node_first_ = std::move(node_first);
  book.edge_first_ = std::move(edge_first);
  return book;
}

uint64_t PartitionBook::num_nodes() const { return SumOfLast(node_first_); }
uint64_t PartitionBook::num_edges() const { return SumOfLast(edge_first_); }

PartitionId PartitionBook::OwnerOf(NodeTypeId type, GlobalNodeId node) const {
  ESPALIER_CHECK(node.value < num_nodes(type)) << "node " << node.value << " of '" << schema_.NodeTypeName(type) << "'";
  return PartitionId(static_cast<uint32_t>(FindRange(node_first_[type.value], node.value)));
}

PartitionId PartitionBook::OwnerOf(EdgeTypeId type, GlobalEdgeId edge) const {
  ESPALIER_CHECK(edge.value < num_edges(type)) << "edge " << edge.value << " of type " << type.value;
  return PartitionId(static_cast<uint32_t>(FindRange(edge_first_[type.value], edge.value)));
}

NodeLocation PartitionBook::Locate(NodeTypeId type, GlobalNodeId node) const {
  const PartitionId owner = OwnerOf(type, node);
  return {owner, LocalNodeId(static_cast<uint32_t>(node.value - node_first_[type.value][owner.value]))};
}

GlobalNodeId PartitionBook::ToGlobal(NodeTypeId type, PartitionId partition, LocalNodeId local) const {
  return GlobalNodeId(node_first_[type.value][partition.value] + local.value);
}

HomogeneousNodeId PartitionBook::ToHomogeneous(NodeTypeId type, GlobalNodeId node) const {
  return HomogeneousNodeId(ToHomogeneousId(node_first_, homogeneous_node_first_, type.value, node.value));
}

HomogeneousEdgeId PartitionBook::ToHomogeneous(EdgeTypeId type, GlobalEdgeId edge) const {
  return HomogeneousEdgeId(ToHomogeneousId(edge_first_, homogeneous_edge_first_, type.value, edge.value));
}

PartitionBook::TypedNode PartitionBook::ToTyped(HomogeneousNodeId node) const {
  const TypedId typed = ToTypedId(node_first_, homogeneous_node_first_, node.value);
  return {NodeTypeId(typed.type), GlobalNodeId(typed.id)};
}

PartitionBook::TypedEdge PartitionBook::ToTyped(HomogeneousEdgeId edge) const {
  const TypedId typed = ToTypedId(edge_first_, homogeneous_edge_first_, edge.value);
  return {EdgeTypeId(typed.type), GlobalEdgeId(typed.id)};
}

}  // namespace espalier::graph
