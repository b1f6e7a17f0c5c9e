// Parses graph.yaml, then reads nodes, edges and splits in this order, because splits may be masks over the nodes of a
// type, or refer to rows of the edge list. Errors name the line of graph.yaml. Values of ids are not checked here,
// except where a split refers to edges; ValidateSourceGraph checks them for the whole graph.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "services/base/file.h"
#include "services/format/source/edge_index.h"
#include "services/format/source/graph_description.h"
#include "services/format/source/npy_file.h"
#include "services/format/source/npy_folder.h"
#include "services/format/source/npz_file.h"
#include "services/format/source/source_name.h"
#include "services/graph/id_values.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;
using graph::EdgeSet;
using graph::NodeSet;
using graph::NodeSplit;
using graph::SourceGraph;

constexpr size_t kMaxDescriptionBytes = 16 << 20;

struct FolderReading {
  std::string directory;
  std::string scratch_folder;  // for arrays of .npz files; empty: they are decompressed into memory
};

// Returns the position in graph.yaml for messages: "graph.yaml:12".
std::string At(int line) { return std::string(kDescriptionFile) + ":" + std::to_string(line); }

Result<Tensor> ReadArray(const FolderReading& folder, const ArrayFile& array) {
  const std::string path = folder.directory + "/" + array.file;
  if (array.member.empty()) return ReadNpy(path, array.dtype).While(At(array.line));
  ASSIGN_OR_RETURN(const NpzFile file, NpzFile::Open(path).While(At(array.line)));
  return file.Read(array.member, array.dtype, folder.scratch_folder).While(At(array.line));
}

Status ReadColumns(const FolderReading& folder, const std::map<std::string, ArrayFile>& files, uint64_t num_rows,
                   std::map<std::string, Tensor>& columns) {
  for (const auto& [name, file] : files) {
    ASSIGN_OR_RETURN(Tensor column, ReadArray(folder, file));
    if (column.shape().empty() || static_cast<uint64_t>(column.num_rows()) != num_rows) {
      return InvalidArgument(At(file.line) + ": column '" + name + "' in " + file.file + " is " + column.ToString() +
                             ": expected " + std::to_string(num_rows) + " rows");
    }
    columns.emplace(name, std::move(column));
  }
  return {};
}

Result<NodeSet> ReadNodes(const FolderReading& folder, const NodeDescription& description) {
  NodeSet nodes;
  if (description.count) {
    nodes.count = *description.count;
  } else {
    ASSIGN_OR_RETURN(const Tensor first, ReadArray(folder, description.columns.begin()->second));
    nodes.count = static_cast<uint64_t>(first.num_rows());
  }
  RETURN_IF_ERROR(ReadColumns(folder, description.columns, nodes.count, nodes.columns));
  return nodes;
}

Status CheckIds(const Tensor& ids, const ArrayFile& file) {
  if (graph::IsIdDType(ids.dtype()) && ids.shape().size() == 1) return {};
  return InvalidArgument(At(file.line) + ": " + file.file + " is " + ids.ToString() +
                         ": expected [m] of I32, I64, U32 or U64");
}

Result<EdgeSet> ReadEdges(const FolderReading& folder, const EdgeDescription& description) {
  EdgeSet edges;
  if (!description.ids && !description.sources) {
    edges = NoEdges();
  } else if (description.ids) {
    ASSIGN_OR_RETURN(const Tensor ids, ReadArray(folder, *description.ids));
    ASSIGN_OR_RETURN(edges, ToEdgeSet(ids).While(At(description.ids->line) + ": " + description.ids->file));
  } else {
    ASSIGN_OR_RETURN(edges.sources, ReadArray(folder, *description.sources));
    ASSIGN_OR_RETURN(edges.destinations, ReadArray(folder, *description.destinations));
    // numpy.array([]) is F64 [0].
    const bool empty = edges.sources.num_elements() == 0 && edges.destinations.num_elements() == 0;
    if (empty && !graph::IsIdDType(edges.sources.dtype())) edges = NoEdges();
    RETURN_IF_ERROR(CheckIds(edges.sources, *description.sources));
    RETURN_IF_ERROR(CheckIds(edges.destinations, *description.destinations));
    // Checked here because a split that refers to rows reads both arrays before the graph is validated.
    if (edges.destinations.dtype() != edges.sources.dtype() || edges.destinations.shape() != edges.sources.shape()) {
      return InvalidArgument(At(description.destinations->line) + ": sources are " + edges.sources.ToString() +
                             ", destinations are " + edges.destinations.ToString() +
                             ": expected the same dtype and length");
    }
  }
  if (description.count && *description.count != edges.num_edges()) {
    return InvalidArgument(At(description.line) + ": edge type '" + description.type.Name() + "' has " +
                           std::to_string(edges.num_edges()) + " edges: 'count' says " +
                           std::to_string(*description.count));
  }
  if (description.original_ids) {
    ASSIGN_OR_RETURN(edges.original_ids, ReadArray(folder, *description.original_ids));
  }
  RETURN_IF_ERROR(ReadColumns(folder, description.columns, edges.num_edges(), edges.columns));
  return edges;
}

// Returns the rows that are set in a BOOL mask: node ids or rows of the edge list.
Result<std::vector<uint64_t>> MaskToIds(const Tensor& mask, uint64_t num_rows) {
  if (mask.shape().size() != 1 || static_cast<uint64_t>(mask.num_rows()) != num_rows) {
    return InvalidArgument("the mask is " + mask.ToString() + ": expected [" + std::to_string(num_rows) + "]");
  }
  std::vector<uint64_t> ids;
  for (uint64_t id = 0; id < num_rows; ++id) {
    if (mask.bytes()[id] != std::byte{0}) ids.push_back(id);
  }
  return ids;
}

Result<std::vector<uint64_t>> ToSortedIds(const Tensor& ids) {
  if (ids.num_elements() == 0) return std::vector<uint64_t>();  // numpy.array([]) is F64 [0]
  if (!graph::IsIdDType(ids.dtype()) || ids.shape().size() != 1) {
    return InvalidArgument("the split is " + ids.ToString() +
                           ": expected a mask (BOOL [nodes]) or node ids ([k] of I32, I64, U32 or U64)");
  }
  std::vector<uint64_t> sorted;
  graph::VisitIds(ids, [&](const auto& values) {
    // A negative id becomes a large one, which validation rejects.
    for (const auto id : values) sorted.push_back(static_cast<uint64_t>(static_cast<int64_t>(id)));
  });
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

Result<std::vector<uint64_t>> ReadPart(const FolderReading& folder, const std::optional<ArrayFile>& file,
                                       uint64_t num_nodes) {
  if (!file) return std::vector<uint64_t>();
  ASSIGN_OR_RETURN(const Tensor tensor, ReadArray(folder, *file));
  Result<std::vector<uint64_t>> ids =
      tensor.dtype() == DType::kBool ? MaskToIds(tensor, num_nodes) : ToSortedIds(tensor);
  return std::move(ids).While(At(file->line) + ": " + file->file);
}

// Returns the edges at these rows of the edge list, in the order of `rows`.
Result<graph::EdgePairs> GetPairs(const std::vector<uint64_t>& rows, const EdgeSet& edges) {
  // Original ids of another shape are rejected when the whole graph is validated.
  const bool has_ids = edges.original_ids.shape() == edges.sources.shape();
  std::vector<uint64_t> sources, destinations, edge_ids;
  for (const uint64_t row : rows) {
    if (row >= edges.num_edges()) {
      return OutOfRange("edge " + std::to_string(static_cast<int64_t>(row)) + " does not exist: the type has " +
                        std::to_string(edges.num_edges()) + " edges");
    }
    const auto at = static_cast<int64_t>(row);
    sources.push_back(static_cast<uint64_t>(edges.sources.ValueAsInt(at)));
    destinations.push_back(static_cast<uint64_t>(edges.destinations.ValueAsInt(at)));
    edge_ids.push_back(has_ids ? static_cast<uint64_t>(edges.original_ids.ValueAsInt(at)) : row);
  }
  return graph::EdgePairs{.sources = graph::IdList::Of(Tensor::FromVector(std::move(sources))),
                          .destinations = graph::IdList::Of(Tensor::FromVector(std::move(destinations))),
                          .edge_ids = graph::IdList::Of(Tensor::FromVector(std::move(edge_ids)))};
}

// Returns row `row` of a U64 tensor [rows, k] as a view that keeps the tensor alive.
graph::IdList GetIdRow(const Tensor& ids, size_t row) {
  return graph::IdList::Of(
      Tensor::Wrap(DType::kU64, {ids.shape()[1]}, ids.bytes() + row * ids.row_bytes(), std::make_shared<Tensor>(ids)));
}

// Checks that each edge id in `pairs` is the row of an edge with the source and destination of the pair. Checks nothing
// if there are no edges, or if the edges have original ids: preprocessing may then have removed the edge of a pair.
Status CheckEdgeIds(const graph::EdgePairs& pairs, const EdgeSet& edges) {
  if (!edges.original_ids.empty() || edges.num_edges() == 0) return {};
  const std::span<const uint64_t> rows = pairs.edge_ids.ids();
  const std::span<const uint64_t> pair_sources = pairs.sources.ids(), pair_destinations = pairs.destinations.ids();
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t row = rows[i], pair_source = pair_sources[i], pair_destination = pair_destinations[i];
    const auto at = static_cast<int64_t>(row);
    const auto where = [&] { return "pair " + std::to_string(i) + " has edge id " + std::to_string(at) + ": "; };
    if (row >= edges.num_edges()) {
      return OutOfRange(where() + "the edge list has " + std::to_string(edges.num_edges()) + " edges");
    }
    const auto source = static_cast<uint64_t>(edges.sources.ValueAsInt(at));
    const auto destination = static_cast<uint64_t>(edges.destinations.ValueAsInt(at));
    if (source == pair_source && destination == pair_destination) continue;
    return InvalidArgument(where() + "that edge is " + std::to_string(source) + " to " + std::to_string(destination) +
                           ", but the pair is " + std::to_string(pair_source) + " to " +
                           std::to_string(pair_destination));
  }
  return {};
}

// Reads a part of a split of edges: pairs [2, k], pairs with original edge ids [3, k], rows of the edge list [k], or a
// mask of the edge list.
Result<graph::EdgePairs> ReadPairs(const Tensor& tensor, const EdgeSet& edges) {
  if (tensor.dtype() == DType::kBool) {
    ASSIGN_OR_RETURN(const std::vector<uint64_t> rows, MaskToIds(tensor, edges.num_edges()));
    return GetPairs(rows, edges);
  }
  if (tensor.num_elements() == 0) return graph::EdgePairs();  // numpy.array([]) is F64 [0]
  if (!graph::IsIdDType(tensor.dtype()) || tensor.shape().empty() || tensor.shape().size() > 2 ||
      (tensor.shape().size() == 2 && tensor.shape()[0] != 2 && tensor.shape()[0] != 3)) {
    return InvalidArgument("the split is " + tensor.ToString() +
                           ": expected pairs (integers [2, k]), pairs with original edge ids (integers [3, k]), row "
                           "numbers in the edge list (integers [k]), or a mask (BOOL [edges of the type])");
  }
  const bool are_pairs = tensor.shape().size() == 2;
  Tensor wide = tensor;
  if (tensor.dtype() != DType::kU64 || !are_pairs) {
    std::vector<uint64_t> ids;
    // A negative id becomes a large one, which is rejected below or by validation.
    graph::VisitIds(tensor, [&](const auto& values) {
      for (const auto id : values) ids.push_back(static_cast<uint64_t>(static_cast<int64_t>(id)));
    });
    if (!are_pairs) return GetPairs(ids, edges);
    wide = Tensor::FromVector(std::move(ids), tensor.shape());
  }
  graph::EdgePairs pairs{.sources = GetIdRow(wide, 0), .destinations = GetIdRow(wide, 1)};
  if (wide.num_rows() == 3) {
    pairs.edge_ids = GetIdRow(wide, 2);
    RETURN_IF_ERROR(CheckEdgeIds(pairs, edges));
  }
  return pairs;
}

// Returns true if a part of a split of edges identifies edges by row numbers or ids. Also returns true for members of
// .npz files, which would have to be decompressed to find out.
bool MayHaveEdgeIds(const std::string& directory, const ArrayFile& part) {
  if (!part.member.empty()) return true;
  const Result<Tensor> mapped = ReadNpy(directory + "/" + part.file, part.dtype);
  return mapped.ok() && (mapped->shape().size() != 2 || mapped->num_rows() != 2);
}

Result<graph::EdgePairs> ReadEdgePart(const FolderReading& folder, const std::optional<ArrayFile>& file,
                                      const EdgeSet& edges) {
  if (!file) return graph::EdgePairs();
  ASSIGN_OR_RETURN(const Tensor tensor, ReadArray(folder, *file));
  return ReadPairs(tensor, edges).While(At(file->line) + ": " + file->file);
}

Status ReadEdgeSplit(const FolderReading& folder, const SplitDescription& description, SourceGraph& graph) {
  ASSIGN_OR_RETURN(const EdgeTypeId type,
                   graph.schema.FindEdgeType(description.edge_type->Name()).While(At(description.line)));
  const EdgeSet& edges = graph.edges_of(type);
  graph::EdgeSplit split;
  ASSIGN_OR_RETURN(split.train, ReadEdgePart(folder, description.train, edges));
  ASSIGN_OR_RETURN(split.validation, ReadEdgePart(folder, description.validation, edges));
  ASSIGN_OR_RETURN(split.test, ReadEdgePart(folder, description.test, edges));
  if (graph.edge_splits[description.name].emplace(type.value, std::move(split)).second) return {};
  return InvalidArgument(At(description.line) + ": split '" + description.name + "' of '" +
                         description.edge_type->Name() + "' occurs twice");
}

Status ReadSplit(const FolderReading& folder, const SplitDescription& description, SourceGraph& graph) {
  if (description.edge_type) return ReadEdgeSplit(folder, description, graph);
  if (description.type.empty() && graph.schema.num_node_types() > 1) {
    return InvalidArgument(At(description.line) + ": a split needs the field 'type' if there are several node types: " +
                           graph.schema.NodeTypeList());
  }
  const std::string type_name = description.type.empty() ? graph.schema.node_types()[0] : description.type;
  ASSIGN_OR_RETURN(const NodeTypeId type, graph.schema.FindNodeType(type_name).While(At(description.line)));
  const uint64_t num_nodes = graph.nodes_of(type).count;
  NodeSplit split;
  ASSIGN_OR_RETURN(split.train, ReadPart(folder, description.train, num_nodes));
  ASSIGN_OR_RETURN(split.validation, ReadPart(folder, description.validation, num_nodes));
  ASSIGN_OR_RETURN(split.test, ReadPart(folder, description.test, num_nodes));
  if (!graph.splits[description.name].emplace(type.value, std::move(split)).second) {
    return InvalidArgument(At(description.line) + ": split '" + description.name + "' of '" + type_name +
                           "' occurs twice");
  }
  return {};
}

Result<graph::GraphSchema> MakeSchema(const GraphDescription& description) {
  std::vector<std::string> node_types;
  std::vector<graph::CanonicalEdgeType> edge_types;
  for (const NodeDescription& nodes : description.nodes) node_types.push_back(nodes.type);
  for (const EdgeDescription& edges : description.edges) edge_types.push_back(edges.type);
  return graph::GraphSchema::Make(std::move(node_types), std::move(edge_types)).While(kDescriptionFile);
}

Result<SourceGraph> ReadDescribed(const FolderReading& folder, const GraphDescription& description) {
  SourceGraph graph;
  graph.name = description.name;
  ASSIGN_OR_RETURN(graph.schema, MakeSchema(description));
  graph.nodes.resize(graph.schema.num_node_types());
  graph.edges.resize(graph.schema.num_edge_types());
  for (const NodeDescription& nodes : description.nodes) {
    ASSIGN_OR_RETURN(const NodeTypeId type, graph.schema.FindNodeType(nodes.type));
    ASSIGN_OR_RETURN(graph.nodes[type.value], ReadNodes(folder, nodes));
  }
  for (const EdgeDescription& edges : description.edges) {
    ASSIGN_OR_RETURN(const EdgeTypeId type, graph.schema.FindEdgeType(edges.type.Name()));
    ASSIGN_OR_RETURN(graph.edges[type.value], ReadEdges(folder, edges));
  }
  for (const SplitDescription& split : description.splits) {
    RETURN_IF_ERROR(ReadSplit(folder, split, graph));
  }
  return graph;
}

}  // namespace

Result<SourceGraph> ReadNpyFolder(const std::string& directory, const std::string& scratch_folder) {
  const std::string path = directory + "/" + kDescriptionFile;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxDescriptionBytes));
  ASSIGN_OR_RETURN(GraphDescription description, ParseGraphDescription(text).While(path));
  if (description.name.empty()) description.name = SourceName(directory);
  return ReadDescribed({directory, scratch_folder}, description).While("reading " + directory);
}

bool NpyFolderSplitsMayHaveEdgeIds(const std::string& directory) {
  const Result<std::string> text = ReadFile(directory + "/" + kDescriptionFile, kMaxDescriptionBytes);
  if (!text.ok()) return false;
  const Result<GraphDescription> description = ParseGraphDescription(*text);
  if (!description.ok()) return false;
  for (const SplitDescription& split : description->splits) {
    if (!split.edge_type) continue;
    for (const auto& part : {split.train, split.validation, split.test}) {
      if (part && MayHaveEdgeIds(directory, *part)) return true;
    }
  }
  return false;
}

}  // namespace espalier::format
