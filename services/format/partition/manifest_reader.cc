// Parses partition manifests. The fields are read in the order of their dependencies: first the types, from which the
// partition book is made, then the splits and partitions, which are checked against the book. Optional fields are
// absent if they have their default.
#include <algorithm>
#include <limits>
#include <tuple>

#include "services/base/sha256.h"
#include "services/format/files/file_entry_json.h"
#include "services/format/files/json_fields.h"
#include "services/format/files/strict_json.h"
#include "services/format/partition/manifest.h"
#include "services/graph/feature_scales.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

using nlohmann::json;

// Reads the optional scales of a column whose dtype and row_shape have been read.
Status ReadScales(const JsonFields& fields, ColumnEntry* column) {
  if (!fields.Has("scales")) return Status();
  RETURN_IF_ERROR(fields.ForEach("scales", [&](const json& element, const std::string& path) -> Status {
    const double scale = element.is_number() ? element.get<double>() : 0;
    if (!(scale > 0) || scale > static_cast<double>(std::numeric_limits<float>::max())) {
      return InvalidArgument(path + ": expected a positive number in the range of F32");
    }
    column->scales.push_back(static_cast<float>(scale));
    return Status();
  }));
  uint64_t width = 1;
  for (const int64_t dimension : column->row_shape) width *= static_cast<uint64_t>(dimension);
  const Status good = graph::CheckScales(column->dtype, width, column->scales);
  return good.ok() ? Status() : fields.InvalidField("scales", good.message());
}

Result<ColumnEntry> ColumnFrom(const JsonFields& fields) {
  ColumnEntry column;
  ASSIGN_OR_RETURN(column.name, fields.Text("name"));
  if (const Status good = graph::CheckName("column", column.name); !good.ok()) {
    return fields.InvalidField("name", good.message());
  }
  ASSIGN_OR_RETURN(const std::string dtype, fields.Text("dtype"));
  const Result<DType> parsed = DTypeFromName(dtype);
  if (!parsed.ok()) return fields.InvalidField("dtype", parsed.status().message());
  column.dtype = *parsed;
  ASSIGN_OR_RETURN(const std::vector<uint64_t> shape, fields.UnsignedList("row_shape"));
  for (const uint64_t dimension : shape) {
    if (dimension >> 62 != 0) return fields.InvalidField("row_shape", "a dimension is 2^62 or more");
    column.row_shape.push_back(static_cast<int64_t>(dimension));
  }
  const Result<int64_t> count = CheckedElementCount(column.row_shape, ItemSize(column.dtype));
  if (!count.ok()) return fields.InvalidField("row_shape", count.status().message());
  if (fields.Has("lacks_values")) {
    ASSIGN_OR_RETURN(column.lacks_values, fields.Bool("lacks_values"));
  }
  if (fields.Has("bad_weight")) {
    ASSIGN_OR_RETURN(column.bad_weight, fields.Text("bad_weight"));
  }
  if (fields.Has("all_zero")) {
    ASSIGN_OR_RETURN(column.is_all_zero, fields.Bool("all_zero"));
  }
  if (fields.Has("bad_feature")) {
    ASSIGN_OR_RETURN(column.bad_feature, fields.Text("bad_feature"));
  }
  if (fields.Has("bad_time")) {
    ASSIGN_OR_RETURN(column.bad_time, fields.Text("bad_time"));
  }
  RETURN_IF_ERROR(ReadScales(fields, &column));
  return column;
}

Result<std::vector<ColumnEntry>> ColumnsFrom(const JsonFields& fields) {
  std::vector<ColumnEntry> columns;
  RETURN_IF_ERROR(fields.ForEach("columns", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields column, JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(ColumnEntry entry, ColumnFrom(column));
    if (!columns.empty() && entry.name <= columns.back().name) {
      return column.InvalidField("name", "expected columns in ascending order of distinct names");
    }
    columns.push_back(std::move(entry));
    return Status();
  }));
  return columns;
}

// Node and edge types in the order of the document. node_first[type][p] is the first global id of partition p.
struct Types {
  std::vector<std::string> node_types;
  std::vector<graph::CanonicalEdgeType> edge_types;
  std::vector<std::vector<uint64_t>> node_first;
  std::vector<std::vector<uint64_t>> edge_first;
};

Status ReadTypes(const JsonFields& document, Types* types, Manifest* manifest) {
  RETURN_IF_ERROR(document.ForEach("node_types", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(types->node_types.emplace_back(), fields.Text("name"));
    ASSIGN_OR_RETURN(types->node_first.emplace_back(), fields.UnsignedList("first"));
    ASSIGN_OR_RETURN(manifest->node_columns.emplace_back(), ColumnsFrom(fields));
    return Status();
  }));
  return document.ForEach("edge_types", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::Of(element, path));
    graph::CanonicalEdgeType& name = types->edge_types.emplace_back();
    ASSIGN_OR_RETURN(name.source, fields.Text("source"));
    ASSIGN_OR_RETURN(name.relation, fields.Text("relation"));
    ASSIGN_OR_RETURN(name.destination, fields.Text("destination"));
    ASSIGN_OR_RETURN(types->edge_first.emplace_back(), fields.UnsignedList("first"));
    ASSIGN_OR_RETURN(manifest->edge_columns.emplace_back(), ColumnsFrom(fields));
    for (const ColumnEntry& column : manifest->edge_columns.back()) {
      if (column.scales.empty()) continue;
      return fields.InvalidField("columns", "'" + column.name + "' has scales, which only node columns may have");
    }
    return Status();
  });
}

Status ReadBook(const JsonFields& document, Manifest* manifest) {
  Types types;
  RETURN_IF_ERROR(ReadTypes(document, &types, manifest));
  // Limits ids to 2^62, because trainers get node ids as signed integers and counts are summed.
  for (const auto* ranges : {&types.node_first, &types.edge_first}) {
    for (const std::vector<uint64_t>& first : *ranges) {
      if (!first.empty() && first.back() >> 62 != 0) return InvalidArgument("first: 2^62 or more ids of one type");
    }
  }
  ASSIGN_OR_RETURN(graph::GraphSchema schema,
                   graph::GraphSchema::Make(types.node_types, types.edge_types).While("node_types and edge_types"));
  if (schema.node_types() != types.node_types || schema.edge_types() != types.edge_types) {
    return InvalidArgument("node_types and edge_types: expected both sorted by name");
  }
  ASSIGN_OR_RETURN(manifest->book, graph::PartitionBook::Make(std::move(schema), std::move(types.node_first),
                                                              std::move(types.edge_first))
                                       .While("first"));
  return Status();
}

Status ReadFacts(const JsonFields& labels, const char* kind, LabelFacts* facts) {
  if (!labels.Has(kind)) return Status();
  ASSIGN_OR_RETURN(const JsonFields fields, labels.Object(kind));
  if (fields.Has("wrong")) {
    ASSIGN_OR_RETURN(facts->wrong, fields.Text("wrong"));
  }
  if (fields.Has("has_label")) {
    ASSIGN_OR_RETURN(facts->has_label, fields.Bool("has_label"));
  }
  return Status();
}

// Reads the field "labels", which is absent if no facts are recorded.
Status ReadLabels(const JsonFields& split, std::map<std::string, SplitLabels>* labels) {
  if (!split.Has("labels")) return Status();
  ASSIGN_OR_RETURN(const JsonFields columns, split.Object("labels"));
  return columns.ForEachField([&](const std::string& name, const json& value, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields column, JsonFields::Of(value, path));
    SplitLabels& facts = (*labels)[name];
    RETURN_IF_ERROR(ReadFacts(column, "classes", &facts.classes));
    RETURN_IF_ERROR(ReadFacts(column, "flags", &facts.flags));
    return ReadFacts(column, "numbers", &facts.numbers);
  });
}

Result<SplitEntry> SplitFrom(const JsonFields& fields, const graph::PartitionBook& book) {
  SplitEntry split;
  ASSIGN_OR_RETURN(split.name, fields.Text("name"));
  if (const Status good = graph::CheckName("split", split.name); !good.ok()) {
    return fields.InvalidField("name", good.message());
  }
  ASSIGN_OR_RETURN(const std::string type_name, fields.Text("node_type"));
  const Result<NodeTypeId> type = book.schema().FindNodeType(type_name);
  if (!type.ok()) return fields.InvalidField("node_type", type.status().message());
  split.node_type = type->value;
  ASSIGN_OR_RETURN(split.train, fields.Unsigned("train"));
  ASSIGN_OR_RETURN(split.validation, fields.Unsigned("validation"));
  ASSIGN_OR_RETURN(split.test, fields.Unsigned("test"));
  const uint64_t num_nodes = book.num_nodes(*type);
  if (split.train > num_nodes || split.validation > num_nodes || split.test > num_nodes) {
    return fields.InvalidField("node_type",
                               "a part has more nodes than the type, which has " + std::to_string(num_nodes));
  }
  RETURN_IF_ERROR(ReadLabels(fields, &split.labels));
  return split;
}

Status ReadSplits(const JsonFields& document, Manifest* manifest) {
  return document.ForEach("splits", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(SplitEntry split, SplitFrom(fields, manifest->book));
    if (!manifest->splits.empty()) {
      const SplitEntry& last = manifest->splits.back();
      if (std::tie(split.name, split.node_type) <= std::tie(last.name, last.node_type)) {
        return fields.InvalidField("name", "expected splits in ascending order of name and node type");
      }
    }
    manifest->splits.push_back(std::move(split));
    return Status();
  });
}

Result<HeldOut> HeldOutFrom(const JsonFields& fields, EdgeTypeId type, const graph::GraphSchema& schema) {
  HeldOut held_out;
  if (!fields.Has("reverse")) return held_out;
  ASSIGN_OR_RETURN(const std::string name, fields.Text("reverse"));
  const Result<EdgeTypeId> reverse = schema.FindEdgeType(name);
  if (!reverse.ok()) return fields.InvalidField("reverse", reverse.status().message());
  if (schema.SourceOf(*reverse) != schema.DestinationOf(type) ||
      schema.DestinationOf(*reverse) != schema.SourceOf(type)) {
    return fields.InvalidField(
        "reverse", "'" + name + "' does not reverse the node types of '" + schema.EdgeType(type).Name() + "'");
  }
  held_out.reverse = reverse->value;
  return held_out;
}

Result<EdgeSplitEntry> EdgeSplitFrom(const JsonFields& fields, const graph::PartitionBook& book) {
  EdgeSplitEntry split;
  ASSIGN_OR_RETURN(split.name, fields.Text("name"));
  if (const Status good = graph::CheckName("split", split.name); !good.ok()) {
    return fields.InvalidField("name", good.message());
  }
  ASSIGN_OR_RETURN(const std::string type_name, fields.Text("edge_type"));
  const Result<EdgeTypeId> type = book.schema().FindEdgeType(type_name);
  if (!type.ok()) return fields.InvalidField("edge_type", type.status().message());
  split.edge_type = type->value;
  ASSIGN_OR_RETURN(split.train, fields.Unsigned("train"));
  ASSIGN_OR_RETURN(split.validation, fields.Unsigned("validation"));
  ASSIGN_OR_RETURN(split.test, fields.Unsigned("test"));
  RETURN_IF_ERROR(ReadLabels(fields, &split.labels));
  if (!fields.Has("held_out")) return split;
  ASSIGN_OR_RETURN(const JsonFields held_out, fields.Object("held_out"));
  ASSIGN_OR_RETURN(split.held_out, HeldOutFrom(held_out, *type, book.schema()));
  return split;
}

// Reads the field "edge_splits", which is absent in graphs without edge splits.
Status ReadEdgeSplits(const JsonFields& document, Manifest* manifest) {
  if (!document.Has("edge_splits")) return Status();
  return document.ForEach("edge_splits", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(EdgeSplitEntry split, EdgeSplitFrom(fields, manifest->book));
    if (!manifest->edge_splits.empty()) {
      const EdgeSplitEntry& last = manifest->edge_splits.back();
      if (std::tie(split.name, split.edge_type) <= std::tie(last.name, last.edge_type)) {
        return fields.InvalidField("name", "expected splits in ascending order of name and edge type");
      }
    }
    manifest->edge_splits.push_back(std::move(split));
    return Status();
  });
}

Status ReadFileEntry(const JsonFields& partition, const char* name, FileEntry* file) {
  ASSIGN_OR_RETURN(const JsonFields fields, partition.Object(name));
  ASSIGN_OR_RETURN(*file, FileEntryFromJson(fields));
  return Status();
}

Result<PartitionEntry> PartitionFrom(const JsonFields& fields) {
  PartitionEntry partition;
  RETURN_IF_ERROR(ReadFileEntry(fields, "graph", &partition.graph));
  RETURN_IF_ERROR(ReadFileEntry(fields, "node_columns", &partition.node_columns));
  RETURN_IF_ERROR(ReadFileEntry(fields, "edge_columns", &partition.edge_columns));
  RETURN_IF_ERROR(ReadFileEntry(fields, "original_edge_ids", &partition.original_edge_ids));
  return partition;
}

Status ReadPartitions(const JsonFields& document, Manifest* manifest) {
  RETURN_IF_ERROR(document.ForEach("partitions", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields fields, JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(manifest->partitions.emplace_back(), PartitionFrom(fields));
    return Status();
  }));
  if (manifest->partitions.size() == manifest->book.num_partitions()) return Status();
  return document.InvalidField("partitions", "expected " + std::to_string(manifest->book.num_partitions()) +
                                                 ", found " + std::to_string(manifest->partitions.size()));
}

Status ReadQuality(const JsonFields& document, Quality* quality) {
  ASSIGN_OR_RETURN(const JsonFields fields, document.Object("quality"));
  ASSIGN_OR_RETURN(quality->cut_edges, fields.Unsigned("cut_edges"));
  ASSIGN_OR_RETURN(quality->cut_ratio, fields.Real("cut_ratio"));
  ASSIGN_OR_RETURN(quality->replication, fields.Real("replication"));
  ASSIGN_OR_RETURN(const JsonFields balance, fields.Object("balance"));
  return balance.ForEachField([&](const std::string& key, const json&, const std::string&) -> Status {
    ASSIGN_OR_RETURN(quality->balance[key], balance.Real(key.c_str()));
    return Status();
  });
}

Status CheckPartitionFormat(const JsonFields& document, int* format_version) {
  ASSIGN_OR_RETURN(const std::string format, document.Text("format"));
  if (format != kPartitionFormatName) {
    return document.InvalidField("format",
                                 "expected '" + std::string(kPartitionFormatName) + "', found '" + format + "'");
  }
  ASSIGN_OR_RETURN(const uint64_t version, document.Unsigned("format_version"));
  if (version == static_cast<uint64_t>(kPartitionFormatVersion) ||
      version == static_cast<uint64_t>(kScaledPartitionFormatVersion)) {
    *format_version = static_cast<int>(version);
    return Status();
  }
  return document.InvalidField(
      "format_version", "this partitioning has version " + std::to_string(version) +
                            ", this program supports versions " + std::to_string(kPartitionFormatVersion) + " and " +
                            std::to_string(kScaledPartitionFormatVersion) + ": partition the graph again");
}

Status ReadOrigin(const JsonFields& document, Manifest* manifest) {
  ASSIGN_OR_RETURN(manifest->partition_key, document.Text("partition_key"));
  if (!IsSha256Hex(manifest->partition_key))
    return document.InvalidField("partition_key", "expected 64 hexadecimal digits");
  ASSIGN_OR_RETURN(manifest->attempt, document.Text("attempt"));
  if (!storage::CheckKey(manifest->attempt).ok() || manifest->attempt.find('/') != std::string::npos) {
    return document.InvalidField("attempt", "expected the name of a folder");
  }
  ASSIGN_OR_RETURN(manifest->graph_name, document.Text("graph_name"));
  ASSIGN_OR_RETURN(manifest->algorithm, document.Text("algorithm"));
  ASSIGN_OR_RETURN(manifest->seed, document.Unsigned("seed"));
  ASSIGN_OR_RETURN(manifest->in_edge_order, document.Text("in_edge_order"));
  return Status();
}

// Reads the field "source_columns", which is absent if no columns were copied to the edges.
Status ReadSourceColumns(const JsonFields& document, Manifest* manifest) {
  if (!document.Has("source_columns")) return Status();
  return document.ForEach("source_columns", [&](const json& element, const std::string& path) -> Status {
    const std::string name = element.is_string() ? element.get<std::string>() : "";
    if (const Status good = graph::CheckName("column", name); !good.ok()) {
      return InvalidArgument(path + ": " + good.message());
    }
    manifest->source_columns.push_back(name);
    return Status();
  });
}

// Reads the field "warnings", which is absent without warnings.
Status ReadWarnings(const JsonFields& document, Manifest* manifest) {
  if (!document.Has("warnings")) return Status();
  return document.ForEach("warnings", [&](const json& element, const std::string& path) -> Status {
    if (!element.is_string()) return InvalidArgument(path + ": expected a text");
    manifest->warnings.push_back(element.get<std::string>());
    return Status();
  });
}

}  // namespace

Result<Manifest> ManifestFromJson(const std::string& text) {
  ASSIGN_OR_RETURN(const json parsed, ParseStrictJson(text, kMaxManifestDepth));
  ASSIGN_OR_RETURN(const JsonFields document, JsonFields::Of(parsed, ""));
  Manifest manifest;
  RETURN_IF_ERROR(CheckPartitionFormat(document, &manifest.format_version));
  RETURN_IF_ERROR(ReadOrigin(document, &manifest));
  RETURN_IF_ERROR(ReadSourceColumns(document, &manifest));
  RETURN_IF_ERROR(ReadBook(document, &manifest));
  if (manifest.format_version < NeededVersion(manifest)) {
    return document.InvalidField("format_version", "a column has scales, which version " +
                                                       std::to_string(manifest.format_version) + " does not have");
  }
  RETURN_IF_ERROR(ReadSplits(document, &manifest));
  RETURN_IF_ERROR(ReadEdgeSplits(document, &manifest));
  RETURN_IF_ERROR(ReadPartitions(document, &manifest));
  RETURN_IF_ERROR(ReadQuality(document, &manifest.quality));
  ASSIGN_OR_RETURN(manifest.partition_seconds, document.Real("partition_seconds"));
  ASSIGN_OR_RETURN(manifest.peak_memory_bytes, document.Unsigned("peak_memory_bytes"));
  RETURN_IF_ERROR(ReadWarnings(document, &manifest));
  return manifest;
}

}  // namespace espalier::format
