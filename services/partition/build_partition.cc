// Nodes: the layout assigns a partition's nodes a contiguous range of global IDs, so a local ID is the global ID minus
// the start of the range, and every node column is gathered by the ascending original IDs of the range. Edges:
// BuildInEdges also returns the row of each in-edge in the source graph (input_rows), and every edge column is
// gathered by these rows. Splits: a partition keeps the nodes with global IDs in its range, and the pairs whose
// destinations have such IDs.
#include "services/partition/build_partition.h"

#include <algorithm>

#include "services/base/parallel.h"
#include "services/base/select_rows.h"
#include "services/partition/id_width.h"
#include "services/partition/in_edges.h"
#include "services/partition/parallel_edges.h"

namespace espalier::partition {
namespace {

constexpr int64_t kBuildGrain = 1 << 14;  // rows

// Returns SelectRows for `rows` of dtype U32 or U64.
Tensor GatherColumn(const Tensor& column, const Tensor& rows, int threads) {
  return rows.dtype() == DType::kU32 ? SelectRows(column, rows.values<uint32_t>(), threads)
                                     : SelectRows(column, rows.values<uint64_t>(), threads);
}

// Returns the original IDs of the nodes with global IDs [first, first + count) by local ID. They are ascending.
template <class T>
Tensor OwnedOriginalIds(std::span<const T> global_of, uint64_t first, uint64_t count, int threads) {
  Tensor ids = Tensor::Zeros(DTypeOf<T>::value, {static_cast<int64_t>(count)});
  const std::span<T> original_of = ids.mutable_values<T>();
  ParallelFor(threads, static_cast<int64_t>(global_of.size()), kBuildGrain, [&](int64_t begin, int64_t end) {
    for (auto node = static_cast<size_t>(begin); node < static_cast<size_t>(end); ++node) {
      const uint64_t local = global_of[node] - first;
      if (local < count) original_of[local] = static_cast<T>(node);
    }
  });
  return ids;
}

graph::OwnedNodes BuildNodes(const graph::SourceGraph& graph, const PartitionLayout& layout, PartitionId partition,
                             NodeTypeId type, int threads) {
  const Tensor& global_of = layout.global_ids[type.value];
  const uint64_t first = layout.book.NodeFirst(type)[partition.value];
  graph::OwnedNodes nodes;
  nodes.count = layout.book.NumOwnedNodes(partition, type);
  nodes.original_ids = global_of.dtype() == DType::kU32
                           ? OwnedOriginalIds(global_of.values<uint32_t>(), first, nodes.count, threads)
                           : OwnedOriginalIds(global_of.values<uint64_t>(), first, nodes.count, threads);
  // A partition that owns all nodes has them in original order, so it shares the columns of the source graph.
  const auto owned_rows = [&](const Tensor& column) {
    return nodes.count == graph.nodes_of(type).count ? column : GatherColumn(column, nodes.original_ids, threads);
  };
  for (const auto& [name, column] : graph.nodes_of(type).columns) nodes.columns[name] = owned_rows(column);
  nodes.scales = graph.nodes_of(type).scales;
  for (uint16_t edge_type = 0; edge_type < graph.edges.size(); ++edge_type) {
    if (graph.schema.SourceOf(EdgeTypeId(edge_type)) != type) continue;
    nodes.columns[OutDegreeColumnName(graph.schema.EdgeType(EdgeTypeId(edge_type)))] =
        owned_rows(layout.out_degrees[edge_type]);
  }
  return nodes;
}

graph::DirectorySlice BuildDirectory(const PartitionLayout& layout, PartitionId partition, NodeTypeId type) {
  const DirectoryRange range = DirectoryRangeFor(layout.book.num_nodes(type), layout.book.num_partitions(), partition);
  const auto map = std::make_shared<Tensor>(layout.global_ids[type.value]);  // keeps the bytes alive
  return {.first = range.first,
          .global_ids = Tensor::Wrap(map->dtype(), {static_cast<int64_t>(range.last - range.first)},
                                     map->bytes() + range.first * ItemSize(map->dtype()), map)};
}

uint64_t ToGlobalId(const Tensor& global_of, uint64_t original) {
  return global_of.dtype() == DType::kU32 ? global_of.values<uint32_t>()[original]
                                          : global_of.values<uint64_t>()[original];
}

graph::SplitPart BuildSplitPart(const std::vector<uint64_t>& members, const PartitionLayout& layout,
                                PartitionId partition, NodeTypeId type) {
  const Tensor& global_of = layout.global_ids[type.value];
  const uint64_t first = layout.book.NodeFirst(type)[partition.value];
  const uint64_t count = layout.book.NumOwnedNodes(partition, type);
  std::vector<uint32_t> local_ids;
  std::vector<uint64_t> ordinals;
  for (size_t ordinal = 0; ordinal < members.size(); ++ordinal) {
    const uint64_t global = ToGlobalId(global_of, members[ordinal]);
    if (global - first >= count) continue;
    local_ids.push_back(static_cast<uint32_t>(global - first));
    ordinals.push_back(ordinal);
  }
  return {.total = members.size(),
          .local_ids = Tensor::FromVector(std::move(local_ids)),
          .ordinals = Tensor::FromVector(std::move(ordinals))};
}

// Returns the pairs whose destinations the partition `built` owns. `built` must already have the in-edges and original
// edge IDs of `type`.
graph::EdgeSplitPart BuildEdgeSplitPart(const graph::EdgePairs& pairs, const PartitionLayout& layout, EdgeTypeId type,
                                        const graph::Partition& built) {
  const NodeTypeId source_type = layout.book.schema().SourceOf(type);
  const NodeTypeId destination_type = layout.book.schema().DestinationOf(type);
  const uint64_t first = layout.book.NodeFirst(destination_type)[built.id.value];
  const uint64_t count = layout.book.NumOwnedNodes(built.id, destination_type);
  const std::span<const uint64_t> pair_sources = pairs.sources.ids(), pair_destinations = pairs.destinations.ids();
  const std::span<const uint64_t> pair_edge_ids = pairs.edge_ids.ids();
  std::vector<uint64_t> sources, ordinals, edge_ids;
  std::vector<uint32_t> destinations;
  for (size_t ordinal = 0; ordinal < pair_destinations.size(); ++ordinal) {
    const uint64_t destination = ToGlobalId(layout.global_ids[destination_type.value], pair_destinations[ordinal]);
    if (destination - first >= count) continue;
    sources.push_back(ToGlobalId(layout.global_ids[source_type.value], pair_sources[ordinal]));
    destinations.push_back(static_cast<uint32_t>(destination - first));
    ordinals.push_back(ordinal);
    if (!pair_edge_ids.empty()) edge_ids.push_back(pair_edge_ids[ordinal]);
  }
  Tensor positions;
  if (!edge_ids.empty()) {
    positions = FindSelectedPositions(built.in_edges[type.value], built.original_edge_ids[type.value],
                                      {.sources = sources, .destinations = destinations, .edge_ids = edge_ids});
  }
  graph::EdgeSplitPart part{.total = pairs.size(),
                            .sources = {},
                            .destinations = Tensor::FromVector(std::move(destinations)),
                            .ordinals = Tensor::FromVector(std::move(ordinals)),
                            .positions = std::move(positions)};
  const bool is_narrow = layout.global_ids[source_type.value].dtype() == DType::kU32;
  part.sources = is_narrow ? Tensor::FromVector(std::vector<uint32_t>(sources.begin(), sources.end()))
                           : Tensor::FromVector(std::move(sources));
  return part;
}

// Returns the original ID of each in-edge, given its row in `edges`, as `dtype`, which is U32 or U64: [m].
Tensor GatherOriginalEdgeIds(const graph::EdgeSet& edges, const Tensor& input_rows, DType dtype, int threads) {
  if (edges.original_ids.empty() && input_rows.dtype() == dtype) return input_rows;
  Tensor ids = Tensor::Zeros(dtype, input_rows.shape());
  const std::span<const uint64_t> original_of_row =
      edges.original_ids.empty() ? std::span<const uint64_t>() : edges.original_ids.values<uint64_t>();
  const auto fill = [&]<class T>(std::span<T> to) {
    ParallelFor(threads, input_rows.num_rows(), kBuildGrain, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const auto row = static_cast<uint64_t>(input_rows.ValueAsInt(k));
        to[static_cast<size_t>(k)] = static_cast<T>(original_of_row.empty() ? row : original_of_row[row]);
      }
    });
  };
  if (dtype == DType::kU32) {
    fill(ids.mutable_values<uint32_t>());
  } else {
    fill(ids.mutable_values<uint64_t>());
  }
  return ids;
}

// Returns the original ID of the source node of each in-edge, given the edge's row in `edges`: U32 or U64 [m].
Tensor GatherSourceIds(const graph::EdgeSet& edges, const Tensor& input_rows, uint64_t num_sources, int threads) {
  const DType dtype = WidthFor(num_sources);
  Tensor ids = Tensor::Zeros(dtype, input_rows.shape());
  const auto fill = [&]<class T>(std::span<T> to) {
    ParallelFor(threads, input_rows.num_rows(), kBuildGrain, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        to[static_cast<size_t>(k)] = static_cast<T>(edges.sources.ValueAsInt(input_rows.ValueAsInt(k)));
      }
    });
  };
  if (dtype == DType::kU32) {
    fill(ids.mutable_values<uint32_t>());
  } else {
    fill(ids.mutable_values<uint64_t>());
  }
  return ids;
}

void AddSourceColumns(const graph::SourceGraph& graph, EdgeTypeId type, const Tensor& input_rows,
                      const BuildOptions& options, std::map<std::string, Tensor>* columns) {
  if (options.source_columns.empty()) return;
  const graph::NodeSet& sources = graph.nodes_of(graph.schema.SourceOf(type));
  const Tensor ids = GatherSourceIds(graph.edges_of(type), input_rows, sources.count, options.threads);
  for (const std::string& name : options.source_columns) {
    const auto column = sources.columns.find(name);
    if (name == graph::kOriginalIdColumn) {
      (*columns)[graph::SourceColumnName(name)] = ids;
    } else if (column != sources.columns.end()) {
      (*columns)[graph::SourceColumnName(name)] = GatherColumn(column->second, ids, options.threads);
    }
  }
}

Status CheckNameIsFree(const graph::SourceGraph& graph, const std::string& name) {
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    if (!graph.edges[type].columns.contains(name)) continue;
    return InvalidArgument("edge type '" + graph.schema.EdgeType(EdgeTypeId(type)).Name() + "' has a column '" + name +
                           "', a name that is reserved for copies of source columns: rename it");
  }
  return Status();
}

}  // namespace

Status SourceColumnWithScalesError(const std::string& name) {
  return InvalidArgument(
      "the source column '" + name +
      "' holds features in I8, and edge columns cannot have their scales: choose another feature data "
      "type, or omit the source column");
}

Status CheckSourceColumns(const graph::SourceGraph& graph, const std::vector<std::string>& source_columns) {
  for (size_t i = 0; i < source_columns.size(); ++i) {
    const std::string& name = source_columns[i];
    const bool exists = name == graph::kOriginalIdColumn ||
                        std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                    [&](const graph::NodeSet& nodes) { return nodes.columns.contains(name); });
    if (!exists) return InvalidArgument("no node type has the source column '" + name + "'");
    const bool has_scales = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                        [&](const graph::NodeSet& nodes) { return nodes.scales.contains(name); });
    if (has_scales) return SourceColumnWithScalesError(name);
    if (std::count(source_columns.begin(), source_columns.end(), name) > 1) {
      return InvalidArgument("the source column '" + name + "' is named twice");
    }
    const Status good = graph::CheckName("column", graph::SourceColumnName(name));
    if (!good.ok()) return Status(good).While("the copies of column '" + name + "'");
    RETURN_IF_ERROR(CheckNameIsFree(graph, graph::SourceColumnName(name)));
  }
  // Checked in all cases, because samplers use any column with this name as the sources' IDs.
  return CheckNameIsFree(graph, graph::SourceColumnName(graph::kOriginalIdColumn));
}

Status CheckTimeColumn(const graph::SourceGraph& graph, const std::string& time_column) {
  if (time_column.empty()) return Status();
  bool found = false;
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const auto column = graph.edges[type].columns.find(time_column);
    if (column == graph.edges[type].columns.end()) continue;
    found = true;
    if (column->second.num_elements() != column->second.num_rows() || column->second.dtype() == DType::kBool) {
      return InvalidArgument("time column '" + time_column + "' of edge type '" +
                             graph.schema.EdgeType(EdgeTypeId(type)).Name() +
                             "': expected one number per edge, found " + column->second.ToString());
    }
  }
  return found ? Status() : InvalidArgument("no edge type has the time column '" + time_column + "'");
}

graph::Partition BuildPartition(const graph::SourceGraph& graph, const PartitionLayout& layout, PartitionId partition,
                                const BuildOptions& options) {
  graph::Partition built;
  built.id = partition;
  for (uint16_t type = 0; type < graph.nodes.size(); ++type) {
    built.nodes.push_back(BuildNodes(graph, layout, partition, NodeTypeId(type), options.threads));
    built.directory.push_back(BuildDirectory(layout, partition, NodeTypeId(type)));
  }
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const graph::EdgeSet& edges = graph.edges[type];
    OrderedInEdges in_edges =
        BuildInEdges(graph, layout, partition, EdgeTypeId(type), options.time_column, options.threads);
    built.in_edges.push_back(std::move(in_edges.csc));
    auto& columns = built.edge_columns.emplace_back();
    for (const auto& [name, column] : edges.columns) {
      columns[name] = GatherColumn(column, in_edges.input_rows, options.threads);
    }
    AddSourceColumns(graph, EdgeTypeId(type), in_edges.input_rows, options, &columns);
    built.original_edge_ids.push_back(
        GatherOriginalEdgeIds(edges, in_edges.input_rows, layout.original_edge_id_dtypes[type], options.threads));
  }
  for (const auto& [name, split_of_type] : graph.splits) {
    for (const auto& [type, split] : split_of_type) {
      for (const std::vector<uint64_t>* members : {&split.train, &split.validation, &split.test}) {
        built.splits[name][type].push_back(BuildSplitPart(*members, layout, partition, NodeTypeId(type)));
      }
    }
  }
  for (const auto& [name, split_of_type] : graph.edge_splits) {
    for (const auto& [type, split] : split_of_type) {
      for (const graph::EdgePairs* pairs : {&split.train, &split.validation, &split.test}) {
        built.edge_splits[name][type].push_back(BuildEdgeSplitPart(*pairs, layout, EdgeTypeId(type), built));
      }
    }
  }
  return built;
}

Result<PartitionSet> BuildAllPartitions(const graph::SourceGraph& graph, const Assignment& assignment,
                                        uint32_t num_partitions, const BuildOptions& options) {
  RETURN_IF_ERROR(CheckTimeColumn(graph, options.time_column));
  RETURN_IF_ERROR(CheckSourceColumns(graph, options.source_columns));
  ASSIGN_OR_RETURN(const PartitionLayout layout,
                   MakePartitionLayout(graph, assignment, num_partitions, options.threads));
  PartitionSet set{.book = layout.book};
  for (uint32_t p = 0; p < num_partitions; ++p) {
    set.partitions.push_back(BuildPartition(graph, layout, PartitionId(p), options));
  }
  return set;
}

}  // namespace espalier::partition
