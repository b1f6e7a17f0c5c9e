// The counts are read first. In the heterogeneous layout, the names of the arrays in num_nodes_dict.npz and
// num_edges_dict.npz are the types. Edges are views of edge_index, without a copy (ToEdgeSet); the array of a type may
// be missing only if the type's count is 0. All other files or arrays named node_* or edge_* are columns, and
// node-label.npz has the labels.
#include "services/format/source/ogb_binary_reader.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

#include "services/format/source/edge_index.h"
#include "services/format/source/growing_column.h"
#include "services/format/source/limits.h"
#include "services/format/source/npz_file.h"
#include "services/graph/id_values.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;
using graph::CanonicalEdgeType;
using graph::EdgeSet;
using graph::GraphSchema;
using graph::NodeSet;
using graph::SourceGraph;

constexpr const char* kLabel = "node-label";
constexpr int64_t kLabelsAtOnce = 1 << 16;

bool IsFile(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// Returns the single number in num_nodes_list or a similar array. More numbers mean several graphs, which is an error.
Result<uint64_t> ReadCount(const NpzFile& file, const std::string& name) {
  ASSIGN_OR_RETURN(const Tensor counts, file.Read(name));
  const bool one = graph::IsIdDType(counts.dtype()) && counts.num_elements() == 1;
  const int64_t count = one ? counts.ValueAsInt(0) : -1;
  if (count >= 0 && static_cast<uint64_t>(count) <= kMaxCount) return static_cast<uint64_t>(count);
  return InvalidArgument("'" + name + "' of " + file.path() + " is " + counts.ToString() +
                         (one ? " with value " + std::to_string(count) : "") + ": expected one number from 0 to 2^40");
}

// Returns a column [n, 1] as [n]; any other column unchanged. Not used for features, which stay matrices.
Tensor Squeeze(Tensor column) {
  if (column.shape().size() != 2 || column.shape()[1] != 1) return column;
  auto owner = std::make_shared<Tensor>(std::move(column));
  return Tensor::Wrap(owner->dtype(), {owner->shape()[0]}, owner->bytes(), owner);
}

// Returns true for F32 and F64 labels if each value is an integer from -1e9 to 1e9 (a class number) or NaN (a missing
// label, as in papers100M).
bool AreClassNumbers(const Tensor& labels) {
  if (labels.dtype() != DType::kF32 && labels.dtype() != DType::kF64) return false;
  constexpr double kMaxInteger = 1e9;
  const int64_t count = labels.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    const double value = labels.ValueAsDouble(i);
    if (!std::isnan(value) && (value != std::floor(value) || std::fabs(value) > kMaxInteger)) return false;
  }
  return true;
}

// Converts floating-point class numbers to I64, with -1 for missing labels. Returns other labels unchanged.
Result<Tensor> ToIntegerLabels(Tensor labels, const std::string& scratch_folder) {
  if (!AreClassNumbers(labels)) return labels;
  const int64_t count = labels.num_elements();
  GrowingColumn<int64_t> integers(scratch_folder);
  for (int64_t begin = 0; begin < count; begin += kLabelsAtOnce) {
    std::vector<int64_t> some;
    for (int64_t i = begin; i < std::min(begin + kLabelsAtOnce, count); ++i) {
      const double value = labels.ValueAsDouble(i);
      some.push_back(std::isnan(value) ? -1 : static_cast<int64_t>(value));
    }
    RETURN_IF_ERROR(integers.Append(std::move(some)));
  }
  return std::move(integers).Finish(labels.shape());
}

// Returns the name of the column in the CSV layout: "node-feat" for "node_feat", "edge-feat" for "edge_feat". Other
// names are the same in both layouts.
std::string ToColumnName(const std::string& array) {
  if (array == "node_feat") return "node-feat";
  return array == "edge_feat" ? "edge-feat" : array;
}

Status AddColumn(const NpzFile& file, const std::string& array, const std::string& column,
                 const std::string& scratch_folder, std::map<std::string, Tensor>* columns) {
  ASSIGN_OR_RETURN(Tensor values, file.Read(array, std::nullopt, scratch_folder));
  const bool feature = column == "node-feat" || column == "edge-feat";
  if (column == kLabel) {
    ASSIGN_OR_RETURN(values, ToIntegerLabels(std::move(values), scratch_folder));
  }
  (*columns)[column] = feature ? std::move(values) : Squeeze(std::move(values));
  return Status();
}

Result<EdgeSet> ReadEdges(const NpzFile& file, const std::string& name, uint64_t num_edges,
                          const std::string& scratch_folder) {
  const std::vector<std::string> names = file.Names();
  if (num_edges == 0 && std::find(names.begin(), names.end(), name) == names.end()) return NoEdges();
  ASSIGN_OR_RETURN(const Tensor index, file.Read(name, std::nullopt, scratch_folder));
  const std::string where = "'" + name + "' of " + file.path();
  ASSIGN_OR_RETURN(EdgeSet edges, ToEdgeSet(index).While(where));
  if (edges.num_edges() == num_edges) return edges;
  return InvalidArgument(where + " has " + std::to_string(edges.num_edges()) + " edges: expected " +
                         std::to_string(num_edges));
}

Status ReadHomogeneous(const std::string& raw, SourceGraph& graph, const std::string& scratch_folder) {
  ASSIGN_OR_RETURN(graph.schema, GraphSchema::Make({"node"}, {{"node", "edge", "node"}}));
  ASSIGN_OR_RETURN(const NpzFile data, NpzFile::Open(raw + "/data.npz"));
  NodeSet nodes;
  ASSIGN_OR_RETURN(nodes.count, ReadCount(data, "num_nodes_list"));
  ASSIGN_OR_RETURN(const uint64_t num_edges, ReadCount(data, "num_edges_list"));
  ASSIGN_OR_RETURN(EdgeSet edges, ReadEdges(data, "edge_index", num_edges, scratch_folder));
  for (const std::string& name : data.Names()) {
    if (name == "edge_index" || name == "num_nodes_list" || name == "num_edges_list") continue;
    const bool of_nodes = name.starts_with("node_");
    if (!of_nodes && !name.starts_with("edge_")) {
      return InvalidArgument("'" + name + "' of " + data.path() + ": expected arrays named node_* or edge_*");
    }
    RETURN_IF_ERROR(
        AddColumn(data, name, ToColumnName(name), scratch_folder, of_nodes ? &nodes.columns : &edges.columns));
  }
  if (const std::string labels = raw + "/node-label.npz"; IsFile(labels)) {
    ASSIGN_OR_RETURN(const NpzFile file, NpzFile::Open(labels));
    RETURN_IF_ERROR(AddColumn(file, "node_label", kLabel, scratch_folder, &nodes.columns));
  }
  graph.nodes.push_back(std::move(nodes));
  graph.edges.push_back(std::move(edges));
  return Status();
}

// Parses "author___writes___paper".
Result<CanonicalEdgeType> ParseEdgeType(const std::string& name) {
  constexpr std::string_view kBetween = "___";
  const size_t first = name.find(kBetween);
  const size_t second = first == std::string::npos ? first : name.find(kBetween, first + kBetween.size());
  if (second == std::string::npos) {
    return InvalidArgument("'" + name + "': expected <head>___<relation>___<tail>");
  }
  return CanonicalEdgeType{name.substr(0, first),
                           name.substr(first + kBetween.size(), second - first - kBetween.size()),
                           name.substr(second + kBetween.size())};
}

std::string ToArrayName(const CanonicalEdgeType& type) {
  return type.source + "___" + type.relation + "___" + type.destination;
}

Result<GraphSchema> ReadSchema(const NpzFile& nodes, const NpzFile& edges) {
  std::vector<CanonicalEdgeType> edge_types;
  for (const std::string& name : edges.Names()) {
    ASSIGN_OR_RETURN(CanonicalEdgeType type, ParseEdgeType(name).While("reading " + edges.path()));
    edge_types.push_back(std::move(type));
  }
  return GraphSchema::Make(nodes.Names(), std::move(edge_types)).While("reading the types in " + nodes.path());
}

Status ReadNodeColumn(const NpzFile& file, const std::string& column, SourceGraph& graph,
                      const std::string& scratch_folder) {
  for (const std::string& name : file.Names()) {
    ASSIGN_OR_RETURN(const NodeTypeId type, graph.schema.FindNodeType(name).While("reading " + file.path()));
    RETURN_IF_ERROR(AddColumn(file, name, column, scratch_folder, &graph.nodes[type.value].columns));
  }
  return Status();
}

Status ReadEdgeColumn(const NpzFile& file, const std::string& column, SourceGraph& graph,
                      const std::string& scratch_folder) {
  for (const std::string& name : file.Names()) {
    ASSIGN_OR_RETURN(const CanonicalEdgeType edge_type, ParseEdgeType(name).While("reading " + file.path()));
    ASSIGN_OR_RETURN(const EdgeTypeId type,
                     graph.schema.FindEdgeType(edge_type.Name()).While("reading " + file.path()));
    RETURN_IF_ERROR(AddColumn(file, name, column, scratch_folder, &graph.edges[type.value].columns));
  }
  return Status();
}

// Reads the columns in raw/node_*_dict.npz, edge_*_dict.npz and node-label.npz, in the order of file names.
Status ReadTypedColumns(const std::string& raw, SourceGraph& graph, const std::string& scratch_folder) {
  constexpr std::string_view kEnding = "_dict.npz";
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(raw, error), end; !error && at != end; at.increment(error)) {
    files.push_back(at->path().filename().string());
  }
  if (error) return FromErrno(error.value(), "listing " + raw);
  std::sort(files.begin(), files.end());
  for (const std::string& name : files) {
    const bool label = name == "node-label.npz";
    const bool of_nodes = name.starts_with("node_") && name.ends_with(kEnding);
    const bool of_edges = name.starts_with("edge_") && name.ends_with(kEnding) && name != "edge_index_dict.npz";
    if (!label && !of_nodes && !of_edges) continue;
    const std::string column = label ? kLabel : ToColumnName(name.substr(0, name.size() - kEnding.size()));
    ASSIGN_OR_RETURN(const NpzFile file, NpzFile::Open(raw + "/" + name));
    RETURN_IF_ERROR(of_edges ? ReadEdgeColumn(file, column, graph, scratch_folder)
                             : ReadNodeColumn(file, column, graph, scratch_folder));
  }
  return Status();
}

Status ReadHeterogeneous(const std::string& raw, SourceGraph& graph, const std::string& scratch_folder) {
  ASSIGN_OR_RETURN(const NpzFile node_counts, NpzFile::Open(raw + "/num_nodes_dict.npz"));
  ASSIGN_OR_RETURN(const NpzFile edge_counts, NpzFile::Open(raw + "/num_edges_dict.npz"));
  ASSIGN_OR_RETURN(const NpzFile edge_index, NpzFile::Open(raw + "/edge_index_dict.npz"));
  ASSIGN_OR_RETURN(graph.schema, ReadSchema(node_counts, edge_counts));
  for (const std::string& type : graph.schema.node_types()) {
    NodeSet& nodes = graph.nodes.emplace_back();
    ASSIGN_OR_RETURN(nodes.count, ReadCount(node_counts, type));
  }
  for (const CanonicalEdgeType& type : graph.schema.edge_types()) {
    ASSIGN_OR_RETURN(const uint64_t count, ReadCount(edge_counts, ToArrayName(type)));
    ASSIGN_OR_RETURN(EdgeSet edges, ReadEdges(edge_index, ToArrayName(type), count, scratch_folder));
    graph.edges.push_back(std::move(edges));
  }
  return ReadTypedColumns(raw, graph, scratch_folder);
}

}  // namespace

std::optional<OgbTypes> FindOgbBinary(const std::string& raw_directory) {
  if (IsFile(raw_directory + "/data.npz")) return OgbTypes::kHomogeneous;
  if (IsFile(raw_directory + "/edge_index_dict.npz")) return OgbTypes::kHeterogeneous;
  return std::nullopt;
}

Status ReadOgbBinary(const std::string& raw_directory, OgbTypes types, SourceGraph& graph,
                     const std::string& scratch_folder) {
  switch (types) {
    case OgbTypes::kHomogeneous: return ReadHomogeneous(raw_directory, graph, scratch_folder);
    case OgbTypes::kHeterogeneous: return ReadHeterogeneous(raw_directory, graph, scratch_folder);
  }
  return Status();
}

}  // namespace espalier::format
