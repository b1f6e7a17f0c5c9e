// Formats partition manifests. The output is deterministic: fields have a fixed order, and optional fields are written
// only if they differ from their default. Names of local copies of partitions contain a hash of the output
// (partition_copies.cc), so a change of the format changes those names.
#include <nlohmann/json.hpp>

#include "services/format/files/file_entry_json.h"
#include "services/format/partition/manifest.h"

namespace espalier::format {
namespace {

// Keeps the order of fields.
using Json = nlohmann::ordered_json;

Json ToJson(const std::vector<ColumnEntry>& columns) {
  Json list = Json::array();
  for (const ColumnEntry& column : columns) {
    Json entry = {{"name", column.name}, {"dtype", ToString(column.dtype)}, {"row_shape", column.row_shape}};
    if (column.lacks_values) entry["lacks_values"] = true;
    if (!column.bad_weight.empty()) entry["bad_weight"] = column.bad_weight;
    if (column.is_all_zero) entry["all_zero"] = true;
    if (!column.bad_feature.empty()) entry["bad_feature"] = column.bad_feature;
    if (!column.bad_time.empty()) entry["bad_time"] = column.bad_time;
    if (!column.scales.empty()) entry["scales"] = column.scales;
    list.push_back(std::move(entry));
  }
  return list;
}

std::vector<uint64_t> ToVector(std::span<const uint64_t> numbers) { return {numbers.begin(), numbers.end()}; }

Json NodeTypes(const Manifest& manifest) {
  Json list = Json::array();
  for (uint16_t type = 0; type < manifest.book.schema().num_node_types(); ++type) {
    list.push_back({{"name", manifest.book.schema().NodeTypeName(NodeTypeId(type))},
                    {"first", ToVector(manifest.book.NodeFirst(NodeTypeId(type)))},
                    {"columns", ToJson(manifest.node_columns[type])}});
  }
  return list;
}

Json EdgeTypes(const Manifest& manifest) {
  Json list = Json::array();
  for (uint16_t type = 0; type < manifest.book.schema().num_edge_types(); ++type) {
    const graph::CanonicalEdgeType& name = manifest.book.schema().EdgeType(EdgeTypeId(type));
    list.push_back({{"source", name.source},
                    {"relation", name.relation},
                    {"destination", name.destination},
                    {"first", ToVector(manifest.book.EdgeFirst(EdgeTypeId(type)))},
                    {"columns", ToJson(manifest.edge_columns[type])}});
  }
  return list;
}

void WriteFacts(const char* kind, const LabelFacts& facts, Json* labels) {
  if (facts == LabelFacts()) return;
  Json& written = (*labels)[kind] = Json::object();
  if (!facts.wrong.empty()) written["wrong"] = facts.wrong;
  if (!facts.has_label) written["has_label"] = false;
}

void WriteLabels(const std::map<std::string, SplitLabels>& labels, Json* split) {
  for (const auto& [column, facts] : labels) {
    Json& written = (*split)["labels"][column] = Json::object();
    WriteFacts("classes", facts.classes, &written);
    WriteFacts("flags", facts.flags, &written);
    WriteFacts("numbers", facts.numbers, &written);
  }
}

Json Splits(const Manifest& manifest) {
  Json list = Json::array();
  for (const SplitEntry& split : manifest.splits) {
    list.push_back({{"name", split.name},
                    {"node_type", manifest.book.schema().NodeTypeName(NodeTypeId(split.node_type))},
                    {"train", split.train},
                    {"validation", split.validation},
                    {"test", split.test}});
    WriteLabels(split.labels, &list.back());
  }
  return list;
}

Json EdgeSplits(const Manifest& manifest) {
  Json list = Json::array();
  const graph::GraphSchema& schema = manifest.book.schema();
  for (const EdgeSplitEntry& split : manifest.edge_splits) {
    list.push_back({{"name", split.name},
                    {"edge_type", schema.EdgeType(EdgeTypeId(split.edge_type)).Name()},
                    {"train", split.train},
                    {"validation", split.validation},
                    {"test", split.test}});
    WriteLabels(split.labels, &list.back());
    if (!split.held_out.has_value()) continue;
    Json& held_out = list.back()["held_out"] = Json::object();
    const std::optional<uint16_t>& reverse = split.held_out->reverse;
    if (reverse.has_value()) held_out["reverse"] = schema.EdgeType(EdgeTypeId(*reverse)).Name();
  }
  return list;
}

Json Partitions(const Manifest& manifest) {
  Json list = Json::array();
  for (const PartitionEntry& partition : manifest.partitions) {
    list.push_back({{"graph", FileEntryToJson(partition.graph)},
                    {"node_columns", FileEntryToJson(partition.node_columns)},
                    {"edge_columns", FileEntryToJson(partition.edge_columns)},
                    {"original_edge_ids", FileEntryToJson(partition.original_edge_ids)}});
  }
  return list;
}

Json ToJson(const Quality& quality) {
  return {{"cut_edges", quality.cut_edges},
          {"cut_ratio", quality.cut_ratio},
          {"replication", quality.replication},
          {"balance", quality.balance.empty() ? Json::object() : Json(quality.balance)}};
}

}  // namespace

uint64_t PartitionEntry::size_bytes() const {
  uint64_t bytes = 0;
  for (const FileEntry* file : files()) bytes += file->size_bytes;
  return bytes;
}

int NeededVersion(const Manifest& manifest) {
  for (const std::vector<ColumnEntry>& columns : manifest.node_columns) {
    for (const ColumnEntry& column : columns) {
      if (!column.scales.empty()) return kScaledPartitionFormatVersion;
    }
  }
  return kPartitionFormatVersion;
}

std::string ManifestToJson(const Manifest& manifest) {
  ESPALIER_CHECK(manifest.node_columns.size() == manifest.book.schema().num_node_types() &&
                 manifest.edge_columns.size() == manifest.book.schema().num_edge_types())
      << "expected the columns of every type";
  Json document = {{"format", kPartitionFormatName},
                   {"format_version", manifest.format_version},
                   {"partition_key", manifest.partition_key},
                   {"attempt", manifest.attempt},
                   {"graph_name", manifest.graph_name},
                   {"algorithm", manifest.algorithm},
                   {"seed", manifest.seed},
                   {"in_edge_order", manifest.in_edge_order},
                   {"node_types", NodeTypes(manifest)},
                   {"edge_types", EdgeTypes(manifest)},
                   {"splits", Splits(manifest)},
                   {"partitions", Partitions(manifest)},
                   {"quality", ToJson(manifest.quality)},
                   {"partition_seconds", manifest.partition_seconds},
                   {"peak_memory_bytes", manifest.peak_memory_bytes}};
  if (!manifest.source_columns.empty()) document["source_columns"] = manifest.source_columns;
  if (!manifest.edge_splits.empty()) document["edge_splits"] = EdgeSplits(manifest);
  if (!manifest.warnings.empty()) document["warnings"] = manifest.warnings;
  // Names that are not UTF-8 cannot be represented in JSON; invalid bytes become U+FFFD.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace espalier::format
