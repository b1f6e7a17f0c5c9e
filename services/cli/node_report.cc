// Finds a node in two steps. The table from original ids to global ids is cut into one range per partition
// (graph::DirectorySlice); a partition need not own the nodes of its range. The range with the original id gives the
// global id, and the partition book gives the node's owner, the partition that has its in-edges and columns. Only two
// partitions are loaded: the one with the range, without its columns, and the owner.
#include "services/cli/node_report.h"

#include <nlohmann/json.hpp>
#include <span>

#include "services/format/partition/partition_files.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

Result<NodeTypeId> FindType(const graph::GraphSchema& schema, const std::string& name) {
  return (name.empty() ? schema.OnlyNodeType() : schema.FindNodeType(name)).While("--type");
}

// Returns the partition whose DirectorySlice has the original id. The slice of partition p of P has the original ids
// [n * p / P, n * (p + 1) / P) for n nodes.
PartitionId PartitionWithSlice(uint64_t original_id, uint64_t num_nodes, uint32_t num_partitions) {
  uint32_t p = 0;
  while (num_nodes * (p + 1) / num_partitions <= original_id) ++p;
  return PartitionId(p);
}

Result<graph::Partition> Load(const PartitionPlace& place, PartitionId partition, format::LoadOptions options,
                              bool columns) {
  options.node_columns = columns;
  return format::LoadPartition(*place.store, place.prefix, place.manifest, partition, options);
}

// Returns the node's row. `scales`, unless empty, has one factor per element, by which the row is multiplied.
Json ReadRow(const Tensor& column, std::span<const float> scales, LocalNodeId node) {
  const int64_t width = column.num_elements() / std::max<int64_t>(1, column.num_rows());
  const int64_t first = static_cast<int64_t>(node.value) * width;
  const bool floating = column.dtype() == DType::kF32 || column.dtype() == DType::kF64 ||
                        column.dtype() == DType::kF16 || column.dtype() == DType::kBF16;
  Json values = Json::array();
  for (int64_t i = 0; i < width; ++i) {
    if (!scales.empty()) {
      const auto integer = static_cast<float>(column.ValueAsInt(first + i));
      values.push_back(integer * scales[static_cast<size_t>(i)]);
      continue;
    }
    values.push_back(floating ? Json(column.ValueAsDouble(first + i)) : Json(column.ValueAsInt(first + i)));
  }
  return column.shape().size() == 1 && width == 1 ? values[0] : values;
}

std::string AsText(const Json& json, const std::string& indent) {
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) {
      text += indent + key + ":\n" + AsText(value, indent + "  ");
    } else {
      text += indent + key + ": " + (value.is_string() ? value.get<std::string>() : value.dump()) + "\n";
    }
  }
  return text;
}

}  // namespace

Result<std::string> ReportNode(const PartitionPlace& place, const NodeLookup& lookup) {
  const graph::PartitionBook& book = place.manifest.book;
  ASSIGN_OR_RETURN(const NodeTypeId type, FindType(book.schema(), lookup.node_type));
  const std::string& type_name = book.schema().NodeTypeName(type);
  if (lookup.original_id >= book.num_nodes(type)) {
    return OutOfRange("--node " + std::to_string(lookup.original_id) + " is out of range [0, " +
                      std::to_string(book.num_nodes(type)) + "), the original ids of node type '" + type_name + "'");
  }
  const PartitionId directory = PartitionWithSlice(lookup.original_id, book.num_nodes(type), book.num_partitions());
  ASSIGN_OR_RETURN(const graph::Partition with_slice, Load(place, directory, lookup.load, /*columns=*/false));
  const graph::DirectorySlice& slice = with_slice.directory[type.value];
  const auto global =
      static_cast<uint64_t>(slice.global_ids.ValueAsInt(static_cast<int64_t>(lookup.original_id - slice.first)));
  const graph::NodeLocation location = book.Locate(type, GlobalNodeId(global));
  ASSIGN_OR_RETURN(const graph::Partition owner, Load(place, location.partition, lookup.load, /*columns=*/true));

  Json json = {{"type", type_name},
               {"originalId", lookup.original_id},
               {"globalId", global},
               {"partition", location.partition.value},
               {"localId", location.local.value}};
  json["inDegrees"] = Json::object();
  for (const EdgeTypeId edge_type : book.schema().EdgeTypesInto(type)) {
    const Tensor& indptr = owner.in_edges[edge_type.value].indptr;
    const auto row = static_cast<int64_t>(location.local.value);
    json["inDegrees"][book.schema().EdgeType(edge_type).Name()] = indptr.ValueAsInt(row + 1) - indptr.ValueAsInt(row);
  }
  json["columns"] = Json::object();
  const graph::OwnedNodes& nodes = owner.nodes[type.value];
  for (const auto& [name, column] : nodes.columns) {
    const auto scales = nodes.scales.find(name);
    json["columns"][name] = ReadRow(
        column, scales == nodes.scales.end() ? std::span<const float>() : std::span(scales->second), location.local);
  }
  return lookup.json ? json.dump() + "\n" : AsText(json, "");
}

}  // namespace espalier::cli
