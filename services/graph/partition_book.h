// The partition book: which partition owns which ID. After partitioning, the IDs of each type are contiguous per
// partition, so the book holds only range limits: partition p owns the global IDs [first[p], first[p + 1]) of a type.
#pragma once

#include <span>
#include <vector>

#include "services/graph/schema.h"

namespace espalier::graph {

struct NodeLocation {
  PartitionId partition;
  LocalNodeId local;
  friend bool operator==(const NodeLocation&, const NodeLocation&) = default;
};

// Immutable; thread-safe; cheap to copy for tens of partitions.
class PartitionBook {
 public:
  PartitionBook() = default;
  // Returns a book. node_first[type] and edge_first[type] must have num_partitions + 1 ascending entries that start
  // with 0; ranges may be empty. Returns InvalidArgument if they do not, or if the number of types differs from the
  // schema's, and for 2^32 or more nodes of a type in one partition or 2^64 or more IDs.
  static Result<PartitionBook> Make(GraphSchema schema, std::vector<std::vector<uint64_t>> node_first,
                                    std::vector<std::vector<uint64_t>> edge_first);

  const GraphSchema& schema() const { return schema_; }
  uint32_t num_partitions() const { return num_partitions_; }
  uint64_t num_nodes(NodeTypeId type) const { return node_first_[type.value].back(); }
  uint64_t num_edges(EdgeTypeId type) const { return edge_first_[type.value].back(); }
  uint64_t num_nodes() const;  // over all types
  uint64_t num_edges() const;

  // Return the first global ID of each partition, and as the last entry the number of IDs: [num_partitions + 1].
  std::span<const uint64_t> NodeFirst(NodeTypeId type) const { return node_first_[type.value]; }
  std::span<const uint64_t> EdgeFirst(EdgeTypeId type) const { return edge_first_[type.value]; }
  uint64_t NumOwnedNodes(PartitionId p, NodeTypeId type) const {
    return node_first_[type.value][p.value + 1] - node_first_[type.value][p.value];
  }
  uint64_t NumOwnedEdges(PartitionId p, EdgeTypeId type) const {
    return edge_first_[type.value][p.value + 1] - edge_first_[type.value][p.value];
  }

  // Return the partition that owns an ID, which must be below num_nodes or num_edges of its type (checked).
  PartitionId OwnerOf(NodeTypeId type, GlobalNodeId node) const;
  PartitionId OwnerOf(EdgeTypeId type, GlobalEdgeId edge) const;
  NodeLocation Locate(NodeTypeId type, GlobalNodeId node) const;
  GlobalNodeId ToGlobal(NodeTypeId type, PartitionId partition, LocalNodeId local) const;

  // Return the ID over all types, ordered by (partition, type, local ID) like DGL's homogeneous IDs.
  HomogeneousNodeId ToHomogeneous(NodeTypeId type, GlobalNodeId node) const;
  HomogeneousEdgeId ToHomogeneous(EdgeTypeId type, GlobalEdgeId edge) const;
  struct TypedNode {
    NodeTypeId type;
    GlobalNodeId node;
    friend bool operator==(const TypedNode&, const TypedNode&) = default;
  };
  struct TypedEdge {
    EdgeTypeId type;
    GlobalEdgeId edge;
    friend bool operator==(const TypedEdge&, const TypedEdge&) = default;
  };
  TypedNode ToTyped(HomogeneousNodeId node) const;
  TypedEdge ToTyped(HomogeneousEdgeId edge) const;

  friend bool operator==(const PartitionBook&, const PartitionBook&) = default;

 private:
  GraphSchema schema_;
  uint32_t num_partitions_ = 0;
  std::vector<std::vector<uint64_t>> node_first_;  // [type][partition]
  std::vector<std::vector<uint64_t>> edge_first_;
  std::vector<uint64_t> homogeneous_node_first_;  // [partition * num_node_types + type]
  std::vector<uint64_t> homogeneous_edge_first_;
};

}  // namespace espalier::graph
