// The layout is detected from the files: binary (ogb_binary_reader.h) if FindOgbBinary finds it, otherwise
// heterogeneous CSV if raw/triplet-type-list.csv exists, otherwise homogeneous CSV. Counts are read first, so that
// every table is checked for its number of rows and every id for its range while it is parsed.
#include "services/format/source/ogb_reader.h"

#include <algorithm>
#include <filesystem>

#include "services/format/source/csv_table.h"
#include "services/format/source/edge_index.h"
#include "services/format/source/limits.h"
#include "services/format/source/line_reader.h"
#include "services/format/source/ogb_binary_reader.h"
#include "services/format/source/source_name.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;
using graph::EdgeSet;
using graph::GraphSchema;
using graph::NodeSet;
using graph::NodeSplit;
using graph::SourceGraph;

bool IsFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Returns the sorted names of the entries of a folder; empty if the folder does not exist.
std::vector<std::string> ListEntries(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the path of <stem>.csv.gz or <stem>.csv, or NotFound.
Result<std::string> RequireCsv(const std::string& directory, const std::string& stem) {
  if (std::optional<std::string> path = FindPlainOrGzip(directory, stem + ".csv")) return *std::move(path);
  return NotFound(directory + " has neither " + stem + ".csv.gz nor " + stem + ".csv");
}

// Returns the number in num-node-list or num-edge-list. More lines mean several graphs, which is an error.
Result<uint64_t> ReadCount(const std::string& directory, const std::string& stem) {
  ASSIGN_OR_RETURN(const std::string path, RequireCsv(directory, stem));
  ASSIGN_OR_RETURN(const std::vector<uint64_t> counts, ReadCsvIds(path, /*limit=*/kMaxCount + 1, /*max_rows=*/1));
  if (counts.size() == 1) return counts[0];
  return InvalidArgument(path + " contains no number: expected one");
}

struct OgbReading {
  BlockReading blocks;
  const graph::LabelColumns& labels;  // must outlive this object
};

// Reads the column in <stem>.csv, if the file exists, into columns[stem].
Status ReadColumn(const std::string& directory, const std::string& stem, CsvOptions options, const OgbReading& reading,
                  std::map<std::string, Tensor>& columns) {
  const std::optional<std::string> path = FindPlainOrGzip(directory, stem + ".csv");
  if (!path) return {};
  options.may_lack_values = reading.labels.MayLackValues(stem);
  ASSIGN_OR_RETURN(columns[stem], ReadCsvTable(*path, options, reading.blocks));
  return {};
}

// Returns the stem of a CSV file, "node_year" for "node_year.csv.gz", if it begins with `prefix`; "" otherwise.
std::string StemWithPrefix(const std::string& file_name, const std::string& prefix) {
  if (!file_name.starts_with(prefix)) return {};
  const size_t ending = file_name.ends_with(".csv.gz") ? 7 : file_name.ends_with(".csv") ? 4 : 0;
  return ending == 0 ? std::string() : file_name.substr(0, file_name.size() - ending);
}

// Reads the column `feature` ("node-feat") and a column from every file that begins with `prefix` ("node_").
Status ReadFeatureColumns(const std::string& directory, const std::string& feature, const std::string& prefix,
                          uint64_t num_rows, const OgbReading& reading, std::map<std::string, Tensor>& columns) {
  RETURN_IF_ERROR(ReadColumn(directory, feature, {.num_rows = num_rows}, reading, columns));
  for (const std::string& file_name : ListEntries(directory)) {
    const std::string stem = StemWithPrefix(file_name, prefix);
    if (stem.empty() || columns.contains(stem)) continue;
    const CsvOptions options{.numbers = CsvNumbers::kInferred, .shape = CsvShape::kSqueeze, .num_rows = num_rows};
    RETURN_IF_ERROR(ReadColumn(directory, stem, options, reading, columns));
  }
  return {};
}

Status ReadLabels(const std::string& directory, const OgbReading& reading, NodeSet& nodes) {
  const CsvOptions options{.numbers = CsvNumbers::kInferred, .shape = CsvShape::kSqueeze, .num_rows = nodes.count};
  return ReadColumn(directory, "node-label", options, reading, nodes.columns);
}

Result<EdgeSet> ReadEdges(const std::string& directory, uint64_t num_sources, uint64_t num_destinations,
                          const OgbReading& reading) {
  CsvEdgeLimits limits{.num_sources = num_sources, .num_destinations = num_destinations};
  ASSIGN_OR_RETURN(limits.num_edges, ReadCount(directory, "num-edge-list"));
  // edge.csv is optional for an edge type without edges.
  if (limits.num_edges == 0 && !FindPlainOrGzip(directory, "edge.csv")) return NoEdges();
  ASSIGN_OR_RETURN(const std::string path, RequireCsv(directory, "edge"));
  ASSIGN_OR_RETURN(CsvEdges ends, ReadCsvEdges(path, limits, reading.blocks));
  EdgeSet edges{.sources = std::move(ends.sources), .destinations = std::move(ends.destinations)};
  RETURN_IF_ERROR(ReadFeatureColumns(directory, "edge-feat", "edge_", edges.num_edges(), reading, edges.columns));
  return edges;
}

Result<std::vector<uint64_t>> ReadPart(const std::string& directory, const std::string& part, uint64_t num_nodes) {
  ASSIGN_OR_RETURN(const std::string path, RequireCsv(directory, part));
  ASSIGN_OR_RETURN(std::vector<uint64_t> ids, ReadCsvIds(path, num_nodes, /*max_rows=*/num_nodes));
  std::sort(ids.begin(), ids.end());
  if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end()) {
    return InvalidArgument(path + " lists node " + std::to_string(*twice) + " twice");
  }
  return ids;
}

Result<NodeSplit> ReadSplit(const std::string& directory, uint64_t num_nodes) {
  NodeSplit split;
  ASSIGN_OR_RETURN(split.train, ReadPart(directory, "train", num_nodes));
  ASSIGN_OR_RETURN(split.validation, ReadPart(directory, "valid", num_nodes));
  ASSIGN_OR_RETURN(split.test, ReadPart(directory, "test", num_nodes));
  return split;
}

Status ReadHomogeneous(const std::string& raw, const OgbReading& reading, SourceGraph& graph) {
  ASSIGN_OR_RETURN(graph.schema, GraphSchema::Make({"node"}, {{"node", "edge", "node"}}));
  NodeSet nodes;
  ASSIGN_OR_RETURN(nodes.count, ReadCount(raw, "num-node-list"));
  ASSIGN_OR_RETURN(EdgeSet edges, ReadEdges(raw, nodes.count, nodes.count, reading));
  RETURN_IF_ERROR(ReadFeatureColumns(raw, "node-feat", "node_", nodes.count, reading, nodes.columns));
  RETURN_IF_ERROR(ReadLabels(raw, reading, nodes));
  graph.nodes.push_back(std::move(nodes));
  graph.edges.push_back(std::move(edges));
  return {};
}

struct NodeCount {
  std::string type;
  uint64_t count;
};

Result<std::vector<NodeCount>> ReadNodeCounts(const std::string& raw) {
  ASSIGN_OR_RETURN(const std::string path, RequireCsv(raw, "num-node-dict"));
  ASSIGN_OR_RETURN(const auto rows, ReadCsvText(path, /*max_rows=*/2));
  if (rows.size() != 2 || rows[0].size() != rows[1].size()) {
    return InvalidArgument(path + ": expected a line of type names and a line with one number for each");
  }
  std::vector<NodeCount> counts;
  for (size_t i = 0; i < rows[0].size(); ++i) {
    const std::string& number = rows[1][i];
    const bool is_number = !number.empty() && number.size() < 16 &&
                           std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number || std::stoull(number) > kMaxCount) {
      return InvalidArgument(path + ":2: the count of '" + rows[0][i] + "' is '" + number + "': expected 0 to 2^40");
    }
    counts.push_back({rows[0][i], std::stoull(number)});
  }
  return counts;
}

Result<std::vector<graph::CanonicalEdgeType>> ReadEdgeTypes(const std::string& raw) {
  constexpr size_t kMaxEdgeTypes = 65'535;
  ASSIGN_OR_RETURN(const std::string path, RequireCsv(raw, "triplet-type-list"));
  ASSIGN_OR_RETURN(const auto rows, ReadCsvText(path, kMaxEdgeTypes));
  std::vector<graph::CanonicalEdgeType> types;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != 3) {
      return InvalidArgument(path + ":" + std::to_string(i + 1) + " has " + std::to_string(rows[i].size()) +
                             " fields: expected head,relation,tail");
    }
    types.push_back({rows[i][0], rows[i][1], rows[i][2]});
  }
  return types;
}

Result<GraphSchema> ReadSchema(const std::string& raw, const std::vector<NodeCount>& counts) {
  std::vector<std::string> node_types;
  for (const NodeCount& count : counts) node_types.push_back(count.type);
  ASSIGN_OR_RETURN(std::vector<graph::CanonicalEdgeType> edge_types, ReadEdgeTypes(raw));
  return GraphSchema::Make(std::move(node_types), std::move(edge_types)).While("reading the types in " + raw);
}

Status ReadHeterogeneous(const std::string& raw, const OgbReading& reading, SourceGraph& graph) {
  ASSIGN_OR_RETURN(const std::vector<NodeCount> counts, ReadNodeCounts(raw));
  ASSIGN_OR_RETURN(graph.schema, ReadSchema(raw, counts));
  graph.nodes.resize(counts.size());
  for (const auto& [type_name, count] : counts) {
    ASSIGN_OR_RETURN(const NodeTypeId type, graph.schema.FindNodeType(type_name));
    NodeSet& nodes = graph.nodes[type.value];
    nodes.count = count;
    RETURN_IF_ERROR(
        ReadFeatureColumns(raw + "/node-feat/" + type_name, "node-feat", "node_", count, reading, nodes.columns));
    RETURN_IF_ERROR(ReadLabels(raw + "/node-label/" + type_name, reading, nodes));
  }
  for (size_t t = 0; t < graph.schema.num_edge_types(); ++t) {
    const EdgeTypeId id(static_cast<uint16_t>(t));
    const auto& [head, relation, tail] = graph.schema.EdgeType(id);
    ASSIGN_OR_RETURN(EdgeSet edges, ReadEdges(raw + "/relations/" + head + "___" + relation + "___" + tail,
                                              graph.nodes_of(graph.schema.SourceOf(id)).count,
                                              graph.nodes_of(graph.schema.DestinationOf(id)).count, reading));
    graph.edges.push_back(std::move(edges));
  }
  return {};
}

// Reads raw/, and returns whether the graph is heterogeneous. Prefers the binary layout if files of both layouts exist.
Result<OgbTypes> ReadRaw(const std::string& raw, const OgbReading& reading, SourceGraph& graph) {
  if (const std::optional<OgbTypes> binary = FindOgbBinary(raw)) {
    RETURN_IF_ERROR(ReadOgbBinary(raw, *binary, graph, reading.blocks.scratch_folder));
    return *binary;
  }
  const bool heterogeneous = FindPlainOrGzip(raw, "triplet-type-list.csv").has_value();
  RETURN_IF_ERROR(heterogeneous ? ReadHeterogeneous(raw, reading, graph) : ReadHomogeneous(raw, reading, graph));
  return heterogeneous ? OgbTypes::kHeterogeneous : OgbTypes::kHomogeneous;
}

// Returns the name of the first file of torch.save in a split's folder; "" if there is none or if the split is in CSV
// files.
std::string FindTorchFile(const std::string& directory) {
  for (const char* part : {"train", "valid", "test"}) {
    if (FindPlainOrGzip(directory, std::string(part) + ".csv")) return "";
  }
  for (const std::string& name : ListEntries(directory)) {
    if (name.ends_with(".pt") || name.ends_with(".pth")) return name;
  }
  return "";
}

// Returns true, and adds a warning, if the split `name` is ignored because it is stored by torch.save. OGB stores
// splits of edges in this way; they are not read, because a pickle can execute arbitrary code.
bool IsIgnoredSplit(const std::string& name, const std::string& directory, std::vector<std::string>* warnings) {
  const std::string file = FindTorchFile(directory);
  if (file.empty()) return false;
  if (warnings != nullptr) {
    warnings->push_back("split '" + name + "' is omitted: " + directory + "/" + file +
                        " is a file of torch.save, which only Python can read; write its arrays as .npy and name them "
                        "in graph.yaml (docs/graph-formats.md, \"Splits in .pt files\")");
  }
  return true;
}

Status ReadSplits(const std::string& directory, SourceGraph& graph, std::vector<std::string>* warnings) {
  for (const std::string& name : ListEntries(directory)) {
    const std::string split_directory = directory + "/" + name;
    if (!IsFolder(split_directory) || IsIgnoredSplit(name, split_directory, warnings)) continue;
    ASSIGN_OR_RETURN(graph.splits[name][0], ReadSplit(split_directory, graph.nodes[0].count));
  }
  return {};
}

// Reads the splits of a heterogeneous graph: a folder for each split, with a folder for each node type.
Status ReadTypedSplits(const std::string& directory, SourceGraph& graph, std::vector<std::string>* warnings) {
  for (const std::string& name : ListEntries(directory)) {
    const std::string split_directory = directory + "/" + name;
    if (!IsFolder(split_directory) || IsIgnoredSplit(name, split_directory, warnings)) continue;
    for (const std::string& type_name : ListEntries(split_directory)) {
      const std::string type_directory = split_directory + "/" + type_name;
      if (!IsFolder(type_directory) || IsIgnoredSplit(name + "/" + type_name, type_directory, warnings)) continue;
      ASSIGN_OR_RETURN(const NodeTypeId type,
                       graph.schema.FindNodeType(type_name).While("reading the split " + split_directory));
      ASSIGN_OR_RETURN(graph.splits[name][type.value], ReadSplit(type_directory, graph.nodes_of(type).count));
    }
  }
  return {};
}

}  // namespace

Result<SourceGraph> ReadOgb(const SourceReadOptions& options, const std::string& scratch_folder) {
  const std::string& directory = options.path;
  const OgbReading reading{
      .blocks = {.threads = options.threads, .scratch_folder = scratch_folder, .meter = options.meter},
      .labels = options.labels};
  const std::string raw = directory + "/raw";
  if (!IsFolder(raw)) {
    return NotFound(directory + " is not a graph in OGB's layout: it has no folder raw/");
  }
  SourceGraph graph;
  graph.name = SourceName(directory);
  ASSIGN_OR_RETURN(const OgbTypes types, ReadRaw(raw, reading, graph));
  const std::string splits = directory + "/split";
  RETURN_IF_ERROR(types == OgbTypes::kHomogeneous ? ReadSplits(splits, graph, options.warnings)
                                                  : ReadTypedSplits(splits, graph, options.warnings));
  return graph;
}

}  // namespace espalier::format
