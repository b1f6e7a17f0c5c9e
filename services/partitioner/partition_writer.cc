// The layout is computed once; partitions are then built, written and freed one by one, so memory holds the source
// graph and one partition. Columns are described after the first partition is built, because all partitions have the
// same columns.
#include "services/partitioner/partition_writer.h"

#include <algorithm>

#include "services/format/partition/partition_files.h"

namespace espalier::partitioner {
namespace {

std::vector<format::ColumnEntry> MakeColumnEntries(const std::map<std::string, Tensor>& columns) {
  std::vector<format::ColumnEntry> entries;
  for (const auto& [name, column] : columns) {
    entries.push_back({.name = name,
                       .dtype = column.dtype(),
                       .row_shape = std::vector<int64_t>(column.shape().begin() + 1, column.shape().end())});
  }
  return entries;
}

std::vector<format::ColumnEntry> MakeNodeColumnEntries(const graph::OwnedNodes& nodes) {
  std::vector<format::ColumnEntry> entries = MakeColumnEntries(nodes.columns);
  for (format::ColumnEntry& entry : entries) {
    const auto scales = nodes.scales.find(entry.name);
    if (scales != nodes.scales.end()) entry.scales = scales->second;
  }
  return entries;
}

std::vector<format::SplitEntry> MakeSplitEntries(const graph::SourceGraph& graph) {
  std::vector<format::SplitEntry> entries;
  for (const auto& [name, split_of_type] : graph.splits) {
    for (const auto& [type, split] : split_of_type) {
      entries.push_back({.name = name,
                         .node_type = type,
                         .train = split.train.size(),
                         .validation = split.validation.size(),
                         .test = split.test.size()});
    }
  }
  return entries;
}

std::vector<format::EdgeSplitEntry> MakeEdgeSplitEntries(const graph::SourceGraph& graph) {
  std::vector<format::EdgeSplitEntry> entries;
  for (const auto& [name, split_of_type] : graph.edge_splits) {
    for (const auto& [type, split] : split_of_type) {
      entries.push_back({.name = name,
                         .edge_type = type,
                         .train = split.train.size(),
                         .validation = split.validation.size(),
                         .test = split.test.size()});
    }
  }
  return entries;
}

// Returns the edge type in `schema` that contains the reverses of held-out edges of `type`, or nullopt if there is
// none. `schema` is that of the preprocessed graph.
std::optional<uint16_t> FindReverse(const graph::HeldOutEdges& held_out, EdgeTypeId type, bool add_reverse_edges,
                                    const graph::GraphSchema& schema) {
  if (held_out.reverse_edge_type.empty() && !add_reverse_edges) return std::nullopt;
  if (add_reverse_edges && schema.is_homogeneous()) return type.value;
  const graph::CanonicalEdgeType& forward = schema.EdgeType(type);
  const Result<EdgeTypeId> reverse = schema.FindEdgeType(
      held_out.reverse_edge_type.empty()
          ? graph::CanonicalEdgeType{forward.destination, "rev_" + forward.relation, forward.source}.Name()
          : held_out.reverse_edge_type);
  return reverse.ok() ? std::optional<uint16_t>(reverse->value) : std::nullopt;
}

}  // namespace

void DescribeHeldOut(const graph::HeldOutEdges& held_out, bool add_reverse_edges, format::Manifest* manifest) {
  const graph::GraphSchema& schema = manifest->book.schema();
  const std::vector<std::string> names = held_out.Names();
  for (format::EdgeSplitEntry& split : manifest->edge_splits) {
    const EdgeTypeId type(split.edge_type);
    const bool is_held_out = names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
                               return name == schema.EdgeType(type).Name() || name == schema.EdgeType(type).relation;
                             });
    if (split.name != held_out.split || !is_held_out) continue;
    split.held_out = format::HeldOut{.reverse = FindReverse(held_out, type, add_reverse_edges, schema)};
  }
}

format::Manifest DescribeGraph(const graph::SourceGraph& graph, const graph::PartitionBook& book,
                               const std::string& attempt, const partition::BuildOptions& build) {
  format::Manifest manifest;
  manifest.attempt = attempt;
  manifest.graph_name = graph.name;
  manifest.in_edge_order = build.time_column.empty() ? "source,edge" : "time:" + build.time_column + ",source,edge";
  manifest.source_columns = build.source_columns;
  manifest.book = book;
  manifest.splits = MakeSplitEntries(graph);
  manifest.edge_splits = MakeEdgeSplitEntries(graph);
  return manifest;
}

void DescribeColumns(const graph::Partition& partition, format::Manifest* manifest) {
  for (const graph::OwnedNodes& nodes : partition.nodes) manifest->node_columns.push_back(MakeNodeColumnEntries(nodes));
  for (const auto& columns : partition.edge_columns) manifest->edge_columns.push_back(MakeColumnEntries(columns));
  manifest->format_version = format::NeededVersion(*manifest);
}

Result<format::Manifest> WritePartitions(storage::ObjectStore& store, const std::string& prefix,
                                         const std::string& attempt, const graph::SourceGraph& graph,
                                         const partition::Assignment& assignment,
                                         const PartitionWriterOptions& options) {
  RETURN_IF_ERROR(partition::CheckTimeColumn(graph, options.build.time_column));
  RETURN_IF_ERROR(partition::CheckSourceColumns(graph, options.build.source_columns));
  ASSIGN_OR_RETURN(const partition::PartitionLayout layout,
                   partition::MakePartitionLayout(graph, assignment, options.num_partitions, options.build.threads));
  format::Manifest manifest = DescribeGraph(graph, layout.book, attempt, options.build);
  for (uint32_t p = 0; p < options.num_partitions; ++p) {
    if (options.before_partition) RETURN_IF_ERROR(options.before_partition(p));
    const graph::Partition built = partition::BuildPartition(graph, layout, PartitionId(p), options.build);
    if (p == 0) DescribeColumns(built, &manifest);
    ASSIGN_OR_RETURN(format::PartitionEntry entry,
                     format::WritePartition(store, prefix, attempt, layout.book, built, options.stop_requested)
                         .While("writing partition " + std::to_string(p)));
    AddDone(options.meter, entry.size_bytes());
    if (options.meter != nullptr) {  // assumes that the remaining partitions have the same average size
      options.meter->SetExpected(options.meter->done_bytes() / (p + 1) * options.num_partitions);
    }
    manifest.partitions.push_back(std::move(entry));
  }
  return manifest;
}

}  // namespace espalier::partitioner
