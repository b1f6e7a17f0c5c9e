// The JSON document is parsed as YAML, of which JSON is a subset, because yaml-cpp gives the line of each value for
// messages. CheckYamlBounds limits the number of values before the document is loaded. File names are normalized to
// relative paths below the folder; ".." and absolute paths other than those of chunk_graph.py are rejected.
#include "services/format/source/chunked_metadata.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_join.h"
#include "services/base/parse_number.h"
#include "services/format/source/limits.h"
#include "services/format/source/yaml_bounds.h"

namespace espalier::format {
namespace {

// Limit for all arrays together. A larger number indicates a damaged file.
constexpr size_t kMaxChunkFiles = size_t{1} << 20;

// Limit of node types and of edge types. GraphSchema checks its own limit of 2^16 - 1.
constexpr size_t kMaxTypes = size_t{1} << 16;

// A value and its path in the document: "edges['a:b:c'].format".
struct Field {
  YAML::Node value;
  std::string path;

  std::string Where() const {
    return std::string(kChunkedMetadataFile) + ":" + std::to_string(LineNumber(value.Mark())) + ", " + path;
  }
  Status InvalidField(const std::string& what) const { return InvalidArgument(Where() + ": " + what); }
  Field Element(size_t i) const { return {value[i], path + "[" + std::to_string(i) + "]"}; }
};

// Returns an error if `object` is not an object or has a key twice.
Status CheckKeys(const Field& object) {
  if (!object.value.IsMap()) return object.InvalidField("expected an object");
  std::set<std::string> seen;
  for (const auto& entry : object.value) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    if (!seen.insert(key).second) return object.InvalidField("'" + key + "' occurs twice");
  }
  return {};
}

// Calls body(key, field) for each entry of an object, in document order. Returns an error for duplicate keys.
Status ForEachEntry(const Field& object,
                    const std::function<Status(const std::string& key, const Field& field)>& body) {
  RETURN_IF_ERROR(CheckKeys(object));
  for (const auto& entry : object.value) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    RETURN_IF_ERROR(body(key, {entry.second, object.path + "['" + key + "']"}));
  }
  return {};
}

// Returns a field of an object, or nullopt. The path of the result is `name` if `object` is the document itself,
// otherwise "<path of object>.<name>".
std::optional<Field> Find(const Field& object, const std::string& name) {
  if (!object.value.IsMap()) return std::nullopt;
  for (const auto& entry : object.value) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != name) continue;
    return Field{entry.second, object.path == "the document" ? name : object.path + "." + name};
  }
  return std::nullopt;
}

Result<Field> Get(const Field& object, const std::string& name) {
  if (!object.value.IsMap()) return object.InvalidField("expected an object");
  std::optional<Field> found = Find(object, name);
  if (!found) return object.InvalidField("lacks the field '" + name + "'");
  return *std::move(found);
}

Result<std::string> ToText(const Field& field) {
  if (!field.value.IsScalar()) return field.InvalidField("expected a string");
  return field.value.Scalar();
}

Result<uint64_t> ToCount(const Field& field) {
  const std::string text = field.value.IsScalar() ? field.value.Scalar() : "";
  const std::optional<uint64_t> number = ParseNumber<uint64_t>(text);
  if (!number || *number > kMaxCount) {
    return field.InvalidField("is '" + text.substr(0, 40) + "': expected a number from 0 to 2^40");
  }
  return *number;
}

Status CheckTypes(const Field& types) {
  if (!types.value.IsSequence()) return types.InvalidField("expected a list");
  if (types.value.size() <= kMaxTypes) return {};
  return types.InvalidField("names " + std::to_string(types.value.size()) + " types: expected at most 2^16");
}

Status CheckList(const Field& field) {
  return field.value.IsSequence() ? Status() : field.InvalidField("expected a list");
}

Result<ChunkedRows> ReadRowsPerChunk(const Field& chunks) {
  RETURN_IF_ERROR(CheckList(chunks));
  ChunkedRows rows;
  for (size_t i = 0; i < chunks.value.size(); ++i) {
    ASSIGN_OR_RETURN(const uint64_t count, ToCount(chunks.Element(i)));
    rows.per_chunk.push_back(count);
    rows.count += count;
    if (rows.count > kMaxCount) return chunks.InvalidField("has more than 2^40 rows in total");
  }
  return rows;
}

// Returns the rows of each of `num_types` types, from num_<what>_per_chunk (written by chunk_graph.py) or else from
// num_<what>_per_type (read by DGL's tools that run after chunk_graph.py).
Result<std::vector<ChunkedRows>> ReadRowsByType(const Field& root, const std::string& what, size_t num_types) {
  const std::optional<Field> per_chunk = Find(root, "num_" + what + "_per_chunk");
  const std::optional<Field> per_type = Find(root, "num_" + what + "_per_type");
  if (!per_chunk && !per_type) {
    return root.InvalidField("lacks the field 'num_" + what + "_per_chunk' (or 'num_" + what + "_per_type')");
  }
  const Field& list = per_chunk ? *per_chunk : *per_type;
  RETURN_IF_ERROR(CheckList(list));
  if (list.value.size() != num_types) {
    return list.InvalidField("has " + std::to_string(list.value.size()) + " entries: expected one for each of " +
                             std::to_string(num_types) + " types");
  }
  std::vector<ChunkedRows> rows(num_types);
  for (size_t i = 0; i < num_types; ++i) {
    if (per_chunk) {
      ASSIGN_OR_RETURN(rows[i], ReadRowsPerChunk(list.Element(i)));
    } else {
      ASSIGN_OR_RETURN(rows[i].count, ToCount(list.Element(i)));
    }
  }
  return rows;
}

std::vector<std::string> SplitPath(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Where chunk_graph.py writes the files of an array: paths of `depth` components, the first of which is `folder`.
struct WriterPaths {
  std::string folder;
  size_t depth = 0;
};

// Returns the path of a file, relative to the folder of metadata.json.
Result<std::string> NormalizePath(const Field& field, const WriterPaths& written) {
  ASSIGN_OR_RETURN(const std::string text, ToText(field));
  std::vector<std::string> parts = SplitPath(text);
  const bool absolute = text.starts_with('/');
  if (absolute && parts.size() > written.depth) {
    parts.erase(parts.begin(), parts.end() - static_cast<std::ptrdiff_t>(written.depth));
  }
  const bool has_parent = std::count(parts.begin(), parts.end(), "..") > 0;
  if (parts.empty() || has_parent || text.ends_with('/') || (absolute && parts.front() != written.folder)) {
    return field.InvalidField(
        "'" + text.substr(0, 200) + "' is not a file below the folder of " + kChunkedMetadataFile +
        ": expected a relative path, or the absolute one that chunk_graph.py writes (.../" + written.folder + "/...)");
  }
  return absl::StrJoin(parts, "/");
}

Status ReadFormat(const Field& field, ChunkedArray* array) {
  RETURN_IF_ERROR(CheckKeys(field));
  ASSIGN_OR_RETURN(const Field name_field, Get(field, "name"));
  ASSIGN_OR_RETURN(const std::string name, ToText(name_field));
  if (name == "numpy") {
    array->format = ChunkFormat::kNumpy;
    return {};
  }
  if (name == "parquet") {
    return name_field.InvalidField(
        "Parquet files are not supported: write the chunks as 'csv' or 'numpy' (chunk_graph's data_fmt and edges_fmt)");
  }
  if (name != "csv") return name_field.InvalidField("'" + name.substr(0, 40) + "' is unknown: expected csv or numpy");
  const std::optional<Field> delimiter = Find(field, "delimiter");
  if (!delimiter) return {};
  ASSIGN_OR_RETURN(const std::string text, ToText(*delimiter));
  constexpr std::string_view kNumberCharacters = "0123456789+-.eE\r\n";
  if (text.size() != 1 || kNumberCharacters.find(text[0]) != std::string_view::npos) {
    return delimiter->InvalidField("'" + text.substr(0, 40) +
                                   "': expected one character that does not occur in numbers");
  }
  array->delimiter = text[0];
  return {};
}

class MetadataReader {
 public:
  Result<ChunkedMetadata> Read(const Field& root) {
    ChunkedMetadata metadata;
    if (const std::optional<Field> name = Find(root, "graph_name")) {
      ASSIGN_OR_RETURN(metadata.name, ToText(*name));
    }
    RETURN_IF_ERROR(ReadNodes(root, &metadata));
    RETURN_IF_ERROR(ReadEdges(root, &metadata));
    std::map<std::string, Columns*> columns_of;
    for (ChunkedNodes& nodes : metadata.nodes) columns_of.emplace(nodes.type, &nodes.columns);
    RETURN_IF_ERROR(ReadColumns(root, "node_data", columns_of));
    columns_of.clear();
    for (ChunkedEdges& edges : metadata.edges) columns_of.emplace(edges.type.Name(), &edges.columns);
    RETURN_IF_ERROR(ReadColumns(root, "edge_data", columns_of));
    return metadata;
  }

 private:
  using Columns = std::map<std::string, ChunkedArray>;

  Status ReadNodes(const Field& root, ChunkedMetadata* metadata) {
    ASSIGN_OR_RETURN(const Field types, Get(root, "node_type"));
    RETURN_IF_ERROR(CheckTypes(types));
    ASSIGN_OR_RETURN(std::vector<ChunkedRows> rows, ReadRowsByType(root, "nodes", types.value.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSIGN_OR_RETURN(std::string type, ToText(types.Element(i)));
      if (const Status good = graph::CheckName("node type", type); !good.ok()) {
        return types.Element(i).InvalidField(good.message());
      }
      metadata->nodes.push_back({.type = std::move(type), .rows = std::move(rows[i]), .columns = {}});
    }
    return metadata->nodes.empty() ? types.InvalidField("names no node types") : Status();
  }

  Status ReadEdges(const Field& root, ChunkedMetadata* metadata) {
    ASSIGN_OR_RETURN(const Field types, Get(root, "edge_type"));
    RETURN_IF_ERROR(CheckTypes(types));
    ASSIGN_OR_RETURN(std::vector<ChunkedRows> rows, ReadRowsByType(root, "edges", types.value.size()));
    ASSIGN_OR_RETURN(const Field edges, Get(root, "edges"));
    std::map<std::string, Field> entries;
    RETURN_IF_ERROR(ForEachEntry(edges, [&](const std::string& name, const Field& field) -> Status {
      entries.emplace(name, field);
      return {};
    }));
    std::set<std::string> known;
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSIGN_OR_RETURN(const std::string name, ToText(types.Element(i)));
      Result<graph::CanonicalEdgeType> type = graph::ParseCanonicalEdgeType(name);
      if (!type.ok()) return types.Element(i).InvalidField(type.status().message());
      const auto entry = entries.find(name);
      if (entry == entries.end() && rows[i].count > 0) return edges.InvalidField("lacks the field '" + name + "'");
      ChunkedArray ends;  // without files if the type has no edges
      if (entry != entries.end()) {
        ASSIGN_OR_RETURN(ends, ReadArray(entry->second, {.folder = "edge_index", .depth = 2}));
      }
      metadata->edges.push_back(
          {.type = *std::move(type), .rows = std::move(rows[i]), .ends = std::move(ends), .columns = {}});
      known.insert(name);
    }
    for (const auto& [name, field] : entries) {
      if (!known.contains(name)) return field.InvalidField("'edge_type' does not name this type");
    }
    return {};
  }

  // Reads the columns of `section`. `columns_of` has the map of columns of each type, which this function fills.
  Status ReadColumns(const Field& root, const std::string& section, const std::map<std::string, Columns*>& columns_of) {
    const std::optional<Field> types = Find(root, section);
    if (!types) return {};
    return ForEachEntry(*types, [&](const std::string& type, const Field& of_type) -> Status {
      const auto columns = columns_of.find(type);
      if (columns == columns_of.end()) return of_type.InvalidField("there is no such type");
      return ForEachEntry(of_type, [&](const std::string& name, const Field& field) -> Status {
        if (const Status good = graph::CheckName("column", name); !good.ok()) return field.InvalidField(good.message());
        ASSIGN_OR_RETURN((*columns->second)[name], ReadArray(field, {.folder = section, .depth = 3}));
        return {};
      });
    });
  }

  Result<ChunkedArray> ReadArray(const Field& field, const WriterPaths& written) {
    ChunkedArray array;
    array.where = field.Where();
    RETURN_IF_ERROR(CheckKeys(field));
    ASSIGN_OR_RETURN(const Field format, Get(field, "format"));
    RETURN_IF_ERROR(ReadFormat(format, &array));
    ASSIGN_OR_RETURN(const Field data, Get(field, "data"));
    RETURN_IF_ERROR(CheckList(data));
    num_files_ += data.value.size();
    if (num_files_ > kMaxChunkFiles) return data.InvalidField("the arrays up to this one have more than 2^20 files");
    for (size_t i = 0; i < data.value.size(); ++i) {
      ASSIGN_OR_RETURN(std::string file, NormalizePath(data.Element(i), written));
      array.files.push_back(std::move(file));
    }
    return array;
  }

  size_t num_files_ = 0;
};

}  // namespace

Result<ChunkedMetadata> ParseChunkedMetadata(const std::string& json) {
  try {
    CheckYamlBounds(json, YamlReferences::kRefused);
    const Field root{YAML::Load(json), "the document"};
    RETURN_IF_ERROR(CheckKeys(root));
    return MetadataReader().Read(root);
  } catch (const YAML::Exception& error) {
    return InvalidArgument(std::string(kChunkedMetadataFile) + ":" + std::to_string(LineNumber(error.mark)) + ": " +
                           error.msg);
  }
}

}  // namespace espalier::format
