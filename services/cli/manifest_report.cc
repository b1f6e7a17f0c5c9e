// Both reports are computed from the manifest alone; no other file is read. The size of the structure is the size of
// the graph files plus that of the out-degree columns.
#include "services/cli/manifest_report.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "services/base/format_number.h"
#include "services/graph/out_degree_column.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string ColumnsText(const std::vector<format::ColumnEntry>& columns) {
  std::string text;
  for (const format::ColumnEntry& column : columns) {
    text += (text.empty() ? "" : ", ") + column.name + " " + ToString(column.dtype);
    for (const int64_t length : column.row_shape) text += " [" + std::to_string(length) + "]";
    if (!column.scales.empty()) text += " with scales";
  }
  return text.empty() ? "" : "; " + text;
}

Json ColumnsJson(const std::vector<format::ColumnEntry>& columns) {
  Json json = Json::object();
  for (const format::ColumnEntry& column : columns) {
    json[column.name] = {{"dtype", ToString(column.dtype)}, {"rowShape", column.row_shape}};
    if (!column.scales.empty()) json[column.name]["scales"] = column.scales;
  }
  return json;
}

uint64_t CountRowBytes(const format::ColumnEntry& column) {
  uint64_t bytes = ItemSize(column.dtype);
  for (const int64_t length : column.row_shape) bytes *= static_cast<uint64_t>(length);
  return bytes;
}

// Returns the bytes of neighbors, node ids, splits and out-degrees in all partitions. The user's columns and the
// original ids of edges do not count.
uint64_t StructureBytes(const format::Manifest& manifest) {
  uint64_t bytes = 0;
  for (const format::PartitionEntry& entry : manifest.partitions) bytes += entry.graph.size_bytes;
  const graph::GraphSchema& schema = manifest.book.schema();
  std::set<std::string> out_degrees;
  for (const graph::CanonicalEdgeType& type : schema.edge_types()) out_degrees.insert(graph::OutDegreeColumnName(type));
  for (size_t t = 0; t < schema.num_node_types(); ++t) {
    const uint64_t num_nodes = manifest.book.num_nodes(NodeTypeId(static_cast<uint16_t>(t)));
    for (const format::ColumnEntry& column : manifest.node_columns[t]) {
      if (out_degrees.contains(column.name)) bytes += num_nodes * CountRowBytes(column);
    }
  }
  return bytes;
}

// Returns nullopt if the graph has no edges.
std::optional<double> StructureBytesPerEdge(const format::Manifest& manifest) {
  const uint64_t num_edges = manifest.book.num_edges();
  if (num_edges == 0) return std::nullopt;
  return static_cast<double>(StructureBytes(manifest)) / static_cast<double>(num_edges);
}

std::string StructureText(const format::Manifest& manifest) {
  const std::optional<double> per_edge = StructureBytesPerEdge(manifest);
  return "  structure without the user's columns: " + std::to_string(StructureBytes(manifest)) + " bytes" +
         (per_edge.has_value() ? ", " + FormatFixed(*per_edge, 2) + " an edge" : "") + "\n";
}

// Returns the range of global ids of each partition, " [0, 1354) [1354, 2708)", for at most 16 partitions.
std::string RangesText(std::span<const uint64_t> first) {
  constexpr size_t kMaxShown = 16;
  std::string text;
  for (size_t p = 0; p + 1 < first.size() && p < kMaxShown; ++p) {
    text += " [" + std::to_string(first[p]) + ", " + std::to_string(first[p + 1]) + ")";
  }
  return first.size() - 1 > kMaxShown ? text + " ..." : text;
}

}  // namespace

std::string ManifestAsText(const format::Manifest& manifest, const std::string& uri) {
  const graph::PartitionBook& book = manifest.book;
  const graph::GraphSchema& schema = book.schema();
  std::string text = manifest.graph_name + " in " + std::to_string(book.num_partitions()) + " partitions by " +
                     manifest.algorithm + " (seed " + std::to_string(manifest.seed) + ")\n  at " + uri + "\n  key " +
                     manifest.partition_key + "\n";
  for (size_t t = 0; t < schema.num_node_types(); ++t) {
    const NodeTypeId type(static_cast<uint16_t>(t));
    text += "  nodes " + schema.NodeTypeName(type) + ": " + std::to_string(book.num_nodes(type)) +
            ColumnsText(manifest.node_columns[t]) + "\n    global ids" + RangesText(book.NodeFirst(type)) + "\n";
  }
  for (size_t t = 0; t < schema.num_edge_types(); ++t) {
    const EdgeTypeId type(static_cast<uint16_t>(t));
    text += "  edges " + schema.EdgeType(type).Name() + ": " + std::to_string(book.num_edges(type)) +
            ColumnsText(manifest.edge_columns[t]) + "\n    global ids" + RangesText(book.EdgeFirst(type)) + "\n";
  }
  text += "  in-edge order: " + manifest.in_edge_order + "\n";
  for (const format::SplitEntry& split : manifest.splits) {
    text += "  split " + split.name + " of " + schema.node_types()[split.node_type] + ": " +
            std::to_string(split.train) + " train, " + std::to_string(split.validation) + " validation, " +
            std::to_string(split.test) + " test\n";
  }
  for (const format::EdgeSplitEntry& split : manifest.edge_splits) {
    text += "  split " + split.name + " of " + schema.edge_types()[split.edge_type].Name() + ": " +
            std::to_string(split.train) + " train, " + std::to_string(split.validation) + " validation, " +
            std::to_string(split.test) + " test" +
            (split.held_out.has_value() ? "; validation and test held out" : "") + "\n";
  }
  const format::Quality& quality = manifest.quality;
  text += "  cut " + FormatFixed(100 * quality.cut_ratio, 2) + " % of the edges (" + std::to_string(quality.cut_edges) +
          "), replication " + FormatFixed(quality.replication, 3) + "\n  largest partition / average:";
  for (const auto& [constraint, balance] : quality.balance) text += " " + constraint + " " + FormatFixed(balance, 3);
  text += "\n";
  for (size_t p = 0; p < manifest.partitions.size(); ++p) {
    text +=
        "  partition " + std::to_string(p) + ": " + std::to_string(manifest.partitions[p].size_bytes()) + " bytes\n";
  }
  text += StructureText(manifest);
  return text + "  made in " + FormatFixed(manifest.partition_seconds, 1) + " s, peak memory " +
         std::to_string(manifest.peak_memory_bytes >> 20) + " MiB\n";
}

std::string ManifestAsJson(const format::Manifest& manifest, const std::string& uri) {
  const graph::PartitionBook& book = manifest.book;
  const graph::GraphSchema& schema = book.schema();
  Json json = {{"uri", uri},
               {"partitionKey", manifest.partition_key},
               {"graph", manifest.graph_name},
               {"algorithm", manifest.algorithm},
               {"seed", manifest.seed},
               {"formatVersion", manifest.format_version},
               {"inEdgeOrder", manifest.in_edge_order},
               {"partitions", book.num_partitions()}};
  const auto list = [](std::span<const uint64_t> first) { return std::vector<uint64_t>(first.begin(), first.end()); };
  json["nodes"] = Json::object();
  for (size_t t = 0; t < schema.num_node_types(); ++t) {
    const NodeTypeId type(static_cast<uint16_t>(t));
    json["nodes"][schema.NodeTypeName(type)] = {{"count", book.num_nodes(type)},
                                                {"first", list(book.NodeFirst(type))},
                                                {"columns", ColumnsJson(manifest.node_columns[t])}};
  }
  json["edges"] = Json::object();
  for (size_t t = 0; t < schema.num_edge_types(); ++t) {
    const EdgeTypeId type(static_cast<uint16_t>(t));
    json["edges"][schema.EdgeType(type).Name()] = {{"count", book.num_edges(type)},
                                                   {"first", list(book.EdgeFirst(type))},
                                                   {"columns", ColumnsJson(manifest.edge_columns[t])}};
  }
  json["splits"] = Json::object();
  for (const format::SplitEntry& split : manifest.splits) {
    json["splits"][split.name][schema.node_types()[split.node_type]] = {
        {"train", split.train}, {"validation", split.validation}, {"test", split.test}};
  }
  for (const format::EdgeSplitEntry& split : manifest.edge_splits) {
    json["splits"][split.name][schema.edge_types()[split.edge_type].Name()] = {{"train", split.train},
                                                                               {"validation", split.validation},
                                                                               {"test", split.test},
                                                                               {"heldOut", split.held_out.has_value()}};
  }
  json["quality"] = {{"cutEdges", manifest.quality.cut_edges},
                     {"cutRatio", manifest.quality.cut_ratio},
                     {"replication", manifest.quality.replication},
                     {"balance", manifest.quality.balance}};
  json["bytes"] = Json::array();
  for (const format::PartitionEntry& entry : manifest.partitions) json["bytes"].push_back(entry.size_bytes());
  json["structureBytes"] = StructureBytes(manifest);
  const std::optional<double> per_edge = StructureBytesPerEdge(manifest);
  json["structureBytesPerEdge"] = per_edge.has_value() ? Json(*per_edge) : Json();
  json["seconds"] = manifest.partition_seconds;
  json["peakMemoryBytes"] = manifest.peak_memory_bytes;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace espalier::cli
