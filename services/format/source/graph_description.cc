// Parsing is driven by tables of field names and readers (ReadFields), which makes unknown and duplicate fields errors
// with the line number. Functions whose names end in Into return a reader that stores a value in a variable of the
// caller. CheckYamlBounds limits the number of values before the document is loaded, so that nested aliases cannot
// exhaust memory.
#include "services/format/source/graph_description.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <set>

#include "services/base/parse_number.h"
#include "services/format/source/limits.h"
#include "services/format/source/yaml_bounds.h"

namespace espalier::format {
namespace {

int LineNumber(const YAML::Node& node) { return format::LineNumber(node.Mark()); }
Status ErrorAt(const YAML::Node& node, const std::string& message) {
  return InvalidArgument("line " + std::to_string(LineNumber(node)) + ": " + message);
}

using FieldReader = std::function<Status(const YAML::Node& value)>;

// Calls the reader of each field of `map`. Returns an error for unknown and duplicate fields.
Status ReadFields(const YAML::Node& map, const std::string& what, const std::map<std::string, FieldReader>& fields) {
  if (!map.IsMap()) return ErrorAt(map, what + ": expected a map of fields");
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    const auto field = fields.find(key);
    if (field == fields.end()) {
      std::string known;
      for (const auto& [name, reader] : fields) known += (known.empty() ? "" : ", ") + name;
      return ErrorAt(entry.first, what + " has an unknown field '" + key + "'; there are: " + known);
    }
    if (!seen.insert(key).second) return ErrorAt(entry.first, what + " has the field '" + key + "' twice");
    RETURN_IF_ERROR(field->second(entry.second));
  }
  return {};
}

FieldReader TextInto(std::string& text, const std::string& field) {
  return [&text, field](const YAML::Node& value) -> Status {
    if (!value.IsScalar() || value.Scalar().empty()) return ErrorAt(value, "'" + field + "' is not text");
    text = value.Scalar();
    return {};
  };
}

Result<uint64_t> ReadNumber(const YAML::Node& value, const std::string& field, uint64_t max) {
  const std::string text = value.IsScalar() ? value.Scalar() : "";
  const std::optional<uint64_t> number = ParseNumber<uint64_t>(text);
  if (!number || *number > max) {
    return ErrorAt(
        value, "'" + field + "' is '" + text.substr(0, 40) + "': expected a number from 0 to " + std::to_string(max));
  }
  return *number;
}

// Returns an error unless the file is below the folder of graph.yaml, because the digest and the copies of a source
// include only files below its folder.
Status CheckFileName(const YAML::Node& node, const std::string& file) {
  bool is_outside = file.empty() || file[0] == '/';
  for (size_t begin = 0; begin <= file.size();) {
    const size_t end = std::min(file.find('/', begin), file.size());
    is_outside = is_outside || file.substr(begin, end - begin) == "..";
    begin = end + 1;
  }
  return is_outside ? ErrorAt(node, "'" + file + "' is not the name of a file below the folder of graph.yaml")
                    : Status();
}

Result<ArrayFile> ParseArrayFile(const YAML::Node& node) {
  ArrayFile array{.line = LineNumber(node)};
  if (node.IsScalar()) {
    array.file = node.Scalar();
  } else {
    RETURN_IF_ERROR(ReadFields(node, "an array",
                               {{"file", TextInto(array.file, "file")},
                                {"member", TextInto(array.member, "member")},
                                {"dtype", [&array](const YAML::Node& value) -> Status {
                                   const Result<DType> dtype = DTypeFromName(value.IsScalar() ? value.Scalar() : "");
                                   if (!dtype.ok()) return ErrorAt(value, dtype.status().message());
                                   array.dtype = *dtype;
                                   return {};
                                 }}}));
  }
  RETURN_IF_ERROR(CheckFileName(node, array.file));
  const bool is_npz = array.file.ends_with(".npz");
  if (is_npz == array.member.empty()) {
    return ErrorAt(node, "'" + array.file + "': " +
                             (is_npz ? "name an array of the .npz file: {file: " + array.file + ", member: <its name>}"
                                     : "only a .npz file has members"));
  }
  return array;
}

FieldReader ArrayInto(std::optional<ArrayFile>& array) {
  return [&array](const YAML::Node& value) -> Status {
    ASSIGN_OR_RETURN(array, ParseArrayFile(value));
    return {};
  };
}

FieldReader ColumnsInto(std::map<std::string, ArrayFile>& columns) {
  return [&columns](const YAML::Node& value) -> Status {
    if (!value.IsMap()) return ErrorAt(value, "'columns' is not a map of names to files");
    for (const auto& entry : value) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (const Status good = graph::CheckName("column", name); !good.ok()) return ErrorAt(entry.first, good.message());
      if (columns.contains(name)) return ErrorAt(entry.first, "column '" + name + "' occurs twice");
      ASSIGN_OR_RETURN(columns[name], ParseArrayFile(entry.second));
    }
    return {};
  };
}

FieldReader EdgeTypeInto(graph::CanonicalEdgeType& type) {
  return [&type](const YAML::Node& value) -> Status {
    std::string name = value.IsScalar() ? value.Scalar() : "";
    if (value.IsSequence() && value.size() == 3) {
      name = value[0].Scalar() + ":" + value[1].Scalar() + ":" + value[2].Scalar();
    }
    Result<graph::CanonicalEdgeType> parsed = graph::ParseCanonicalEdgeType(name);
    if (!parsed.ok()) return ErrorAt(value, parsed.status().message());
    type = *std::move(parsed);
    return {};
  };
}

Status ReadNodes(const YAML::Node& node, NodeDescription& nodes) {
  nodes.line = LineNumber(node);
  const auto count = [&nodes](const YAML::Node& value) -> Status {
    ASSIGN_OR_RETURN(nodes.count, ReadNumber(value, "count", kMaxCount));
    return {};
  };
  RETURN_IF_ERROR(
      ReadFields(node, "a node type",
                 {{"type", TextInto(nodes.type, "type")}, {"count", count}, {"columns", ColumnsInto(nodes.columns)}}));
  if (nodes.type.empty()) return ErrorAt(node, "a node type without the field 'type'");
  if (!nodes.count && nodes.columns.empty()) {
    return ErrorAt(node, "node type '" + nodes.type + "' has neither 'count' nor columns");
  }
  return {};
}

Status ReadEdges(const YAML::Node& node, EdgeDescription& edges) {
  edges.line = LineNumber(node);
  const auto count = [&edges](const YAML::Node& value) -> Status {
    ASSIGN_OR_RETURN(edges.count, ReadNumber(value, "count", kMaxCount));
    return {};
  };
  RETURN_IF_ERROR(ReadFields(node, "an edge type",
                             {{"type", EdgeTypeInto(edges.type)},
                              {"count", count},
                              {"ids", ArrayInto(edges.ids)},
                              {"sources", ArrayInto(edges.sources)},
                              {"destinations", ArrayInto(edges.destinations)},
                              {"original_ids", ArrayInto(edges.original_ids)},
                              {"columns", ColumnsInto(edges.columns)}}));
  if (edges.type.relation.empty()) return ErrorAt(node, "an edge type without the field 'type'");
  const bool pair = edges.sources && edges.destinations;
  const bool any_of_pair = edges.sources || edges.destinations;
  const bool is_empty = edges.count == 0 && !edges.ids && !any_of_pair;
  if (!is_empty && (edges.ids ? any_of_pair : !pair)) {
    return ErrorAt(node, "edge type '" + edges.type.Name() +
                             "': expected either 'ids', or both 'sources' and 'destinations' ('count: 0' if it has no "
                             "edges)");
  }
  return {};
}

Status ReadSplit(const YAML::Node& node, SplitDescription& split) {
  split.line = LineNumber(node);
  const auto edge_type = [&split](const YAML::Node& value) { return EdgeTypeInto(split.edge_type.emplace())(value); };
  RETURN_IF_ERROR(ReadFields(node, "a split",
                             {{"name", TextInto(split.name, "name")},
                              {"type", TextInto(split.type, "type")},
                              {"edge_type", edge_type},
                              {"train", ArrayInto(split.train)},
                              {"validation", ArrayInto(split.validation)},
                              {"test", ArrayInto(split.test)}}));
  if (split.edge_type && !split.type.empty()) {
    return ErrorAt(node, "split '" + split.name + "' has both 'type' and 'edge_type': expected one of them");
  }
  return split.name.empty() ? ErrorAt(node, "a split without the field 'name'") : Status();
}

// Returns a reader for a list whose elements are read by `read`.
template <class Item>
FieldReader ListInto(std::vector<Item>& items, const std::string& field, Status (*read)(const YAML::Node&, Item&)) {
  return [&items, field, read](const YAML::Node& value) -> Status {
    if (value.IsNull()) return {};
    if (!value.IsSequence()) return ErrorAt(value, "'" + field + "' is not a list");
    for (const auto& entry : value) RETURN_IF_ERROR(read(entry, items.emplace_back()));
    return {};
  };
}

Result<GraphDescription> ParseDescription(const YAML::Node& root) {
  GraphDescription description;
  bool has_version = false;
  const auto version = [&has_version](const YAML::Node& value) -> Status {
    ASSIGN_OR_RETURN(const uint64_t number, ReadNumber(value, "version", 1'000'000));
    has_version = true;
    if (number == kDescriptionVersion) return {};
    return ErrorAt(value, "version " + std::to_string(number) + " of graph.yaml: this program supports version 1");
  };
  RETURN_IF_ERROR(ReadFields(root, "graph.yaml",
                             {{"version", version},
                              {"name", TextInto(description.name, "name")},
                              {"nodes", ListInto(description.nodes, "nodes", ReadNodes)},
                              {"edges", ListInto(description.edges, "edges", ReadEdges)},
                              {"splits", ListInto(description.splits, "splits", ReadSplit)}}));
  if (!has_version) return ErrorAt(root, "graph.yaml lacks the field 'version'");
  if (description.nodes.empty()) return ErrorAt(root, "graph.yaml has no node types: expected at least one in 'nodes'");
  return description;
}

void EmitArray(YAML::Emitter& out, const ArrayFile& array) {
  if (!array.dtype && array.member.empty()) {
    out << array.file;
    return;
  }
  out << YAML::Flow << YAML::BeginMap << YAML::Key << "file" << YAML::Value << array.file;
  if (!array.member.empty()) out << YAML::Key << "member" << YAML::Value << array.member;
  if (array.dtype) out << YAML::Key << "dtype" << YAML::Value << ToString(*array.dtype);
  out << YAML::EndMap;
}

void EmitOptional(YAML::Emitter& out, const char* key, const std::optional<ArrayFile>& array) {
  if (!array) return;
  out << YAML::Key << key << YAML::Value;
  EmitArray(out, *array);
}

void EmitColumns(YAML::Emitter& out, const std::map<std::string, ArrayFile>& columns) {
  if (columns.empty()) return;
  out << YAML::Key << "columns" << YAML::Value << YAML::BeginMap;
  for (const auto& [name, array] : columns) {
    out << YAML::Key << name << YAML::Value;
    EmitArray(out, array);
  }
  out << YAML::EndMap;
}

void EmitNodes(YAML::Emitter& out, const NodeDescription& nodes) {
  out << YAML::BeginMap << YAML::Key << "type" << YAML::Value << nodes.type;
  if (nodes.count) out << YAML::Key << "count" << YAML::Value << *nodes.count;
  EmitColumns(out, nodes.columns);
  out << YAML::EndMap;
}

void EmitEdges(YAML::Emitter& out, const EdgeDescription& edges) {
  out << YAML::BeginMap << YAML::Key << "type" << YAML::Value << edges.type.Name();
  if (edges.count) out << YAML::Key << "count" << YAML::Value << *edges.count;
  EmitOptional(out, "ids", edges.ids);
  EmitOptional(out, "sources", edges.sources);
  EmitOptional(out, "destinations", edges.destinations);
  EmitOptional(out, "original_ids", edges.original_ids);
  EmitColumns(out, edges.columns);
  out << YAML::EndMap;
}

void EmitSplit(YAML::Emitter& out, const SplitDescription& split) {
  out << YAML::BeginMap << YAML::Key << "name" << YAML::Value << split.name;
  if (!split.type.empty()) out << YAML::Key << "type" << YAML::Value << split.type;
  if (split.edge_type) out << YAML::Key << "edge_type" << YAML::Value << split.edge_type->Name();
  EmitOptional(out, "train", split.train);
  EmitOptional(out, "validation", split.validation);
  EmitOptional(out, "test", split.test);
  out << YAML::EndMap;
}

template <class Item>
void EmitList(YAML::Emitter& out, const char* key, const std::vector<Item>& items,
              void (*emit)(YAML::Emitter&, const Item&)) {
  if (items.empty()) return;
  out << YAML::Key << key << YAML::Value << YAML::BeginSeq;
  for (const Item& item : items) emit(out, item);
  out << YAML::EndSeq;
}

}  // namespace

Result<GraphDescription> ParseGraphDescription(const std::string& yaml) {
  try {
    CheckYamlBounds(yaml, YamlReferences::kCounted);
    return ParseDescription(YAML::Load(yaml));
  } catch (const YAML::Exception& error) {
    return InvalidArgument("line " + std::to_string(format::LineNumber(error.mark)) + ": " + error.msg);
  }
}

std::string GraphDescriptionToYaml(const GraphDescription& description) {
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "version" << YAML::Value << kDescriptionVersion;
  if (!description.name.empty()) out << YAML::Key << "name" << YAML::Value << description.name;
  EmitList(out, "nodes", description.nodes, EmitNodes);
  EmitList(out, "edges", description.edges, EmitEdges);
  EmitList(out, "splits", description.splits, EmitSplit);
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace espalier::format
