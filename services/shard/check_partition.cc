// Checks three things: the lengths of all arrays (except original_edge_ids and the directory); the dtypes of ids and
// indptr; and the values that are used as indices, which are indptr and the local ids, endpoints, ordinals and
// positions of splits. Other code returns the source ids of in-edges and the ids of the directory to its callers but
// does not index with them, so their values are not checked here.
#include "services/shard/check_partition.h"

#include <algorithm>
#include <limits>

#include "services/shard/id_array.h"

namespace espalier::shard {
namespace {

Status Mismatch(const std::string& what, const std::string& found, const std::string& expected) {
  return DataLoss(what + " is " + found + ", expected " + expected);
}

Status CheckIds(const std::string& what, const Tensor& ids, uint64_t length) {
  const bool is_ids = ids.dtype() == DType::kU32 || ids.dtype() == DType::kU64 || (ids.empty() && length == 0);
  if (is_ids && ids.shape().size() == 1 && static_cast<uint64_t>(ids.num_rows()) == length) return {};
  return Mismatch(what, ids.ToString(), "U32 or U64 [" + std::to_string(length) + "]");
}

Status CheckColumns(const std::string& owner, const std::map<std::string, Tensor>& columns, uint64_t length) {
  for (const auto& [name, column] : columns) {
    if (!column.shape().empty() && static_cast<uint64_t>(column.num_rows()) == length) continue;
    return Mismatch("column '" + name + "' of " + owner, column.ToString(), std::to_string(length) + " rows");
  }
  return {};
}

Status CheckNodes(const graph::PartitionBook& book, const graph::Partition& partition, NodeTypeId type) {
  const std::string name = "node type '" + book.schema().NodeTypeName(type) + "'";
  const graph::OwnedNodes& nodes = partition.nodes[type.value];
  const uint64_t count = book.NumOwnedNodes(partition.id, type);
  if (nodes.count != count) return Mismatch(name, std::to_string(nodes.count) + " nodes", std::to_string(count));
  if (count > std::numeric_limits<uint32_t>::max())
    return Mismatch(name, std::to_string(count) + " nodes", "fewer than 2^32");
  RETURN_IF_ERROR(CheckIds("original_ids of " + name, nodes.original_ids, count));
  RETURN_IF_ERROR(CheckColumns(name, nodes.columns, count));
  const graph::DirectorySlice& directory = partition.directory[type.value];
  return CheckIds("directory of " + name, directory.global_ids, static_cast<uint64_t>(directory.global_ids.num_rows()));
}

// Checks that indptr ascends from 0 to the number of edges in steps below 2^32 - 1.
Status CheckIndptr(const std::string& name, const Tensor& indptr, uint64_t num_edges) {
  const IdArray values(indptr);
  uint64_t previous = 0;
  for (uint64_t i = 0; i < values.size(); ++i) {
    const uint64_t value = values[i];
    if (value >= previous && value <= num_edges && value - previous < std::numeric_limits<uint32_t>::max()) {
      previous = value;
      continue;
    }
    const uint64_t most = std::min(num_edges, previous + std::numeric_limits<uint32_t>::max() - 1);
    return Mismatch("indptr[" + std::to_string(i) + "] of " + name, std::to_string(value),
                    "at least " + std::to_string(previous) + " and at most " + std::to_string(most));
  }
  if (values.size() > 0 && (values[0] != 0 || previous != num_edges)) {
    return Mismatch("indptr of " + name, "from " + std::to_string(values[0]) + " to " + std::to_string(previous),
                    "from 0 to " + std::to_string(num_edges));
  }
  return {};
}

Status CheckEdges(const graph::PartitionBook& book, const graph::Partition& partition, EdgeTypeId type) {
  const std::string name = "edge type '" + book.schema().EdgeType(type).Name() + "'";
  const graph::InEdges& edges = partition.in_edges[type.value];
  const uint64_t num_edges = book.NumOwnedEdges(partition.id, type);
  const uint64_t num_rows = book.NumOwnedNodes(partition.id, book.schema().DestinationOf(type));
  RETURN_IF_ERROR(CheckIds("indptr of " + name, edges.indptr, num_rows + 1));
  RETURN_IF_ERROR(CheckIds("indices of " + name, edges.indices, num_edges));
  RETURN_IF_ERROR(CheckIndptr(name, edges.indptr, num_edges));
  if (type.value >= partition.edge_columns.size()) return {};
  return CheckColumns(name, partition.edge_columns[type.value], num_edges);
}

// Checks that ordinals and local ids ascend and are below their bounds.
Status CheckSplitPart(const std::string& name, const graph::SplitPart& part, uint64_t num_nodes) {
  const auto count = static_cast<uint64_t>(part.local_ids.num_rows());
  RETURN_IF_ERROR(CheckIds("local ids of " + name, part.local_ids, count));
  RETURN_IF_ERROR(CheckIds("ordinals of " + name, part.ordinals, count));
  const IdArray locals(part.local_ids), ordinals(part.ordinals);
  for (uint64_t i = 0; i < count; ++i) {
    const bool ascends = i == 0 || (locals[i - 1] < locals[i] && ordinals[i - 1] < ordinals[i]);
    if (ascends && locals[i] < num_nodes && ordinals[i] < part.total) continue;
    return Mismatch("entry " + std::to_string(i) + " of " + name,
                    "local id " + std::to_string(locals[i]) + ", ordinal " + std::to_string(ordinals[i]),
                    "ascending local ids below " + std::to_string(num_nodes) + " and ascending ordinals below " +
                        std::to_string(part.total));
  }
  return {};
}

Status CheckSplits(const graph::PartitionBook& book, const graph::Partition& partition) {
  for (const auto& [split, by_type] : partition.splits) {
    for (const auto& [type, parts] : by_type) {
      const std::string name = "split '" + split + "' of node type " + std::to_string(type);
      if (type >= book.schema().num_node_types()) return DataLoss(name + " is of a type that does not exist");
      if (parts.size() != 3) return DataLoss(name + " has " + std::to_string(parts.size()) + " parts, expected 3");
      for (size_t part = 0; part < parts.size(); ++part) {
        const std::string part_name = ToString(static_cast<graph::SplitPartName>(part));
        RETURN_IF_ERROR(CheckSplitPart(part_name + " of " + name, parts[part], partition.nodes[type].count));
      }
    }
  }
  return {};
}

// Checks that ordinals ascend and are below the total, and that endpoints are below their bounds.
Status CheckEdgeSplitPart(const std::string& name, const graph::EdgeSplitPart& part, uint64_t num_sources,
                          uint64_t num_owned) {
  const auto count = static_cast<uint64_t>(part.ordinals.num_rows());
  RETURN_IF_ERROR(CheckIds("sources of " + name, part.sources, count));
  RETURN_IF_ERROR(CheckIds("destinations of " + name, part.destinations, count));
  RETURN_IF_ERROR(CheckIds("ordinals of " + name, part.ordinals, count));
  const IdArray sources(part.sources), destinations(part.destinations), ordinals(part.ordinals);
  for (uint64_t i = 0; i < count; ++i) {
    const bool ascends = (i == 0 || ordinals[i - 1] < ordinals[i]) && ordinals[i] < part.total;
    if (ascends && sources[i] < num_sources && destinations[i] < num_owned) continue;
    return Mismatch("entry " + std::to_string(i) + " of " + name,
                    std::to_string(sources[i]) + " -> " + std::to_string(destinations[i]) + ", ordinal " +
                        std::to_string(ordinals[i]),
                    "source below " + std::to_string(num_sources) + ", destination below " + std::to_string(num_owned) +
                        ", ascending ordinals below " + std::to_string(part.total));
  }
  return {};
}

// Checks the positions of a split part's edges, if it has positions: each must be the position of an in-edge with the
// endpoints of the split's edge, or the number of in-edges of the type, which denotes any edge with these endpoints.
Status CheckPositions(const std::string& name, const graph::EdgeSplitPart& part, const graph::InEdges& in_edges) {
  if (part.positions.empty()) return {};
  const auto count = static_cast<uint64_t>(part.ordinals.num_rows());
  RETURN_IF_ERROR(CheckIds("positions of " + name, part.positions, count));
  const IdArray sources(part.sources), destinations(part.destinations), positions(part.positions);
  const IdArray indptr(in_edges.indptr), indices(in_edges.indices);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t position = positions[i], first = indptr[destinations[i]], last = indptr[destinations[i] + 1];
    if (position == indices.size()) continue;
    if (first <= position && position < last && indices[position] == sources[i]) continue;
    return Mismatch("position " + std::to_string(i) + " of " + name, std::to_string(position),
                    "the position of an edge " + std::to_string(sources[i]) + " -> " + std::to_string(destinations[i]) +
                        ", or " + std::to_string(indices.size()) + " for any such edge");
  }
  return {};
}

Status CheckEdgeSplits(const graph::PartitionBook& book, const graph::Partition& partition) {
  for (const auto& [split, by_type] : partition.edge_splits) {
    for (const auto& [number, parts] : by_type) {
      const std::string name = "split '" + split + "' of edge type " + std::to_string(number);
      if (number >= book.schema().num_edge_types()) return DataLoss(name + " is of a type that does not exist");
      if (parts.size() != 3) return DataLoss(name + " has " + std::to_string(parts.size()) + " parts, expected 3");
      const EdgeTypeId type(number);
      for (size_t part = 0; part < parts.size(); ++part) {
        const std::string part_name = ToString(static_cast<graph::SplitPartName>(part));
        RETURN_IF_ERROR(CheckEdgeSplitPart(part_name + " of " + name, parts[part],
                                           book.num_nodes(book.schema().SourceOf(type)),
                                           book.NumOwnedNodes(partition.id, book.schema().DestinationOf(type))));
        RETURN_IF_ERROR(CheckPositions(part_name + " of " + name, parts[part], partition.in_edges[type.value]));
      }
    }
  }
  return {};
}

Status CheckArrays(const graph::PartitionBook& book, const graph::Partition& partition) {
  const graph::GraphSchema& schema = book.schema();
  if (partition.nodes.size() != schema.num_node_types()) {
    return Mismatch("number of node types", std::to_string(partition.nodes.size()),
                    std::to_string(schema.num_node_types()));
  }
  if (partition.directory.size() != schema.num_node_types()) {
    return Mismatch("number of node types in the directory", std::to_string(partition.directory.size()),
                    std::to_string(schema.num_node_types()));
  }
  if (partition.in_edges.size() != schema.num_edge_types()) {
    return Mismatch("number of edge types", std::to_string(partition.in_edges.size()),
                    std::to_string(schema.num_edge_types()));
  }
  for (uint16_t type = 0; type < schema.num_node_types(); ++type) {
    RETURN_IF_ERROR(CheckNodes(book, partition, NodeTypeId(type)));
  }
  for (uint16_t type = 0; type < schema.num_edge_types(); ++type) {
    RETURN_IF_ERROR(CheckEdges(book, partition, EdgeTypeId(type)));
  }
  RETURN_IF_ERROR(CheckSplits(book, partition));
  return CheckEdgeSplits(book, partition);
}

}  // namespace

Status CheckPartition(const graph::PartitionBook& book, const graph::Partition& partition) {
  if (partition.id.value >= book.num_partitions()) {
    return InvalidArgument("partition " + std::to_string(partition.id.value) + " does not exist; the book has " +
                           std::to_string(book.num_partitions()));
  }
  return CheckArrays(book, partition).While("partition " + std::to_string(partition.id.value));
}

}  // namespace espalier::shard
