// Reads metadata.json first, then the columns of all node types, the edges and their columns (chunk_join.h). At the
// end, forms the split "masks" of each type from its mask columns. Edges in a split are identified by their row
// numbers, because a mask may distinguish parallel edges.
#include "services/format/source/chunked_reader.h"

#include <algorithm>
#include <filesystem>

#include "services/base/file.h"
#include "services/format/source/chunk_join.h"
#include "services/format/source/chunked_metadata.h"
#include "services/format/source/source_name.h"

namespace espalier::format {
namespace {

using graph::EdgeSet;
using graph::NodeSet;
using graph::SourceGraph;

constexpr size_t kMaxMetadataBytes = 64 << 20;

Result<graph::GraphSchema> MakeSchema(const ChunkedMetadata& metadata) {
  std::vector<std::string> node_types;
  std::vector<graph::CanonicalEdgeType> edge_types;
  for (const ChunkedNodes& nodes : metadata.nodes) node_types.push_back(nodes.type);
  for (const ChunkedEdges& edges : metadata.edges) edge_types.push_back(edges.type);
  return graph::GraphSchema::Make(std::move(node_types), std::move(edge_types)).While(kChunkedMetadataFile);
}

Status ReadColumns(const std::map<std::string, ChunkedArray>& arrays, const ChunkedRows& rows,
                   const ChunkReading& reading, std::map<std::string, Tensor>* columns) {
  for (const auto& [name, array] : arrays) {
    ASSIGN_OR_RETURN((*columns)[name], ReadChunkedColumn(name, array, rows, reading));
  }
  return {};
}

// Returns the column `name` if it can be a mask: one integer or BOOL per row. Returns null otherwise.
const Tensor* FindMask(const std::map<std::string, Tensor>& columns, const std::string& name) {
  const auto found = columns.find(name);
  if (found == columns.end() || IsFloating(found->second.dtype())) return nullptr;
  return found->second.num_elements() == found->second.num_rows() ? &found->second : nullptr;
}

// Returns the rows whose value in `mask` is not 0; none if `mask` is null.
std::vector<uint64_t> FindNonzeroRows(const Tensor* mask) {
  std::vector<uint64_t> rows;
  for (int64_t row = 0; mask != nullptr && row < mask->num_rows(); ++row) {
    if (mask->ValueAsInt(row) != 0) rows.push_back(static_cast<uint64_t>(row));
  }
  return rows;
}

// Returns the edges whose value in `mask` is not 0; none if `mask` is null.
graph::EdgePairs FindNonzeroEdges(const Tensor* mask, const EdgeSet& edges) {
  std::vector<uint64_t> rows = FindNonzeroRows(mask), sources, destinations;
  for (const uint64_t row : rows) {
    sources.push_back(static_cast<uint64_t>(edges.sources.ValueAsInt(static_cast<int64_t>(row))));
    destinations.push_back(static_cast<uint64_t>(edges.destinations.ValueAsInt(static_cast<int64_t>(row))));
  }
  return {.sources = graph::IdList::Of(Tensor::FromVector(std::move(sources))),
          .destinations = graph::IdList::Of(Tensor::FromVector(std::move(destinations))),
          .edge_ids = graph::IdList::Of(Tensor::FromVector(std::move(rows)))};
}

constexpr const char* kTrainMask = "train_mask";
constexpr const char* kValidationMask = "val_mask";
constexpr const char* kTestMask = "test_mask";

// The masks of a type; null if a column is missing or is not a mask.
struct Masks {
  explicit Masks(const std::map<std::string, Tensor>& columns)
      : train(FindMask(columns, kTrainMask)),
        validation(FindMask(columns, kValidationMask)),
        test(FindMask(columns, kTestMask)) {}

  bool any() const { return train != nullptr || validation != nullptr || test != nullptr; }

  const Tensor* train;
  const Tensor* validation;
  const Tensor* test;
};

// If one of the three mask columns is a mask but another one cannot be a mask (FindMask), they form no split, because
// the split would have an empty part by mistake. Returns a description of this problem, or "" if there is none.
std::string FindMaskProblem(const std::map<std::string, Tensor>& columns) {
  if (!Masks(columns).any()) return "";
  for (const char* name : {kTrainMask, kValidationMask, kTestMask}) {
    const auto found = columns.find(name);
    if (found == columns.end() || FindMask(columns, name) != nullptr) continue;
    return "column '" + std::string(name) + "' is " + found->second.ToString() +
           ", but the type has other masks: expected one integer or bool per row";
  }
  return "";
}

// Returns true if the columns of `owner` form a split. If they form none although one of them is a mask, adds the
// reason (FindMaskProblem) to `warnings`, unless null.
bool HasMaskSplit(const std::map<std::string, Tensor>& columns, const std::string& owner,
                  std::vector<std::string>* warnings) {
  const std::string problem = FindMaskProblem(columns);
  if (!problem.empty() && warnings != nullptr) {
    warnings->push_back("split '" + std::string(kMaskSplit) + "' of " + owner + " is omitted: " + problem);
  }
  return problem.empty() && Masks(columns).any();
}

void AddMaskSplits(SourceGraph* graph, std::vector<std::string>* warnings) {
  for (uint16_t type = 0; type < graph->nodes.size(); ++type) {
    const auto& columns = graph->nodes[type].columns;
    const std::string owner = "node type '" + graph->schema.NodeTypeName(NodeTypeId(type)) + "'";
    if (!HasMaskSplit(columns, owner, warnings)) continue;
    const Masks masks(columns);
    graph->splits[kMaskSplit][type] = {.train = FindNonzeroRows(masks.train),
                                       .validation = FindNonzeroRows(masks.validation),
                                       .test = FindNonzeroRows(masks.test)};
  }
  for (uint16_t type = 0; type < graph->edges.size(); ++type) {
    const EdgeSet& edges = graph->edges[type];
    const std::string owner = "edge type '" + graph->schema.EdgeType(EdgeTypeId(type)).Name() + "'";
    if (!HasMaskSplit(edges.columns, owner, warnings)) continue;
    const Masks masks(edges.columns);
    graph->edge_splits[kMaskSplit][type] = {.train = FindNonzeroEdges(masks.train, edges),
                                            .validation = FindNonzeroEdges(masks.validation, edges),
                                            .test = FindNonzeroEdges(masks.test, edges)};
  }
}

Result<SourceGraph> ReadGraph(const ChunkedMetadata& metadata, const ChunkReading& reading,
                              std::vector<std::string>* warnings) {
  SourceGraph graph;
  graph.name = metadata.name.empty() ? SourceName(reading.directory) : metadata.name;
  ASSIGN_OR_RETURN(graph.schema, MakeSchema(metadata));
  graph.nodes.resize(graph.schema.num_node_types());
  graph.edges.resize(graph.schema.num_edge_types());
  for (const ChunkedNodes& described : metadata.nodes) {
    ASSIGN_OR_RETURN(const NodeTypeId type, graph.schema.FindNodeType(described.type));
    NodeSet& nodes = graph.nodes[type.value];
    nodes.count = described.rows.count;
    RETURN_IF_ERROR(ReadColumns(described.columns, described.rows, reading, &nodes.columns));
  }
  for (const ChunkedEdges& described : metadata.edges) {
    ASSIGN_OR_RETURN(const EdgeTypeId type, graph.schema.FindEdgeType(described.type.Name()));
    const EdgeEndLimits limits{.num_sources = graph.nodes_of(graph.schema.SourceOf(type)).count,
                               .num_destinations = graph.nodes_of(graph.schema.DestinationOf(type)).count};
    EdgeSet& edges = graph.edges[type.value];
    ASSIGN_OR_RETURN(edges, ReadChunkedEdges(described.ends, described.rows, limits, reading));
    RETURN_IF_ERROR(ReadColumns(described.columns, described.rows, reading, &edges.columns));
  }
  AddMaskSplits(&graph, warnings);
  return graph;
}

}  // namespace

Result<SourceGraph> ReadChunked(const SourceReadOptions& options, const std::string& scratch_folder) {
  const std::string& directory = options.path;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(directory + "/" + kChunkedMetadataFile, kMaxMetadataBytes));
  ASSIGN_OR_RETURN(const ChunkedMetadata metadata, ParseChunkedMetadata(text).While("reading " + directory));
  const ChunkReading reading{
      .directory = directory, .threads = options.threads, .scratch_folder = scratch_folder, .labels = options.labels};
  return ReadGraph(metadata, reading, options.warnings).While("reading " + directory);
}

bool ChunkedSplitsMayHaveEdgeIds(const std::string& directory) {
  const Result<std::string> text = ReadFile(directory + "/" + kChunkedMetadataFile, kMaxMetadataBytes);
  if (!text.ok()) return false;
  const Result<ChunkedMetadata> metadata = ParseChunkedMetadata(*text);
  if (!metadata.ok()) return false;
  return std::ranges::any_of(metadata->edges, [](const ChunkedEdges& edges) {
    return edges.columns.contains(kTrainMask) || edges.columns.contains(kValidationMask) ||
           edges.columns.contains(kTestMask);
  });
}

}  // namespace espalier::format
