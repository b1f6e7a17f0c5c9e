#include "services/partitioner/group/share_features.h"

#include "services/graph/feature_conversion.h"
#include "services/partition/partition_layout.h"

namespace espalier::partitioner {
namespace {

// Returns the error for the first row that cannot be converted in range `rank` of `size` of every column's rows.
Status CheckFeatureRange(const graph::SourceGraph& source, uint32_t rank, uint32_t size,
                         const graph::PreprocessOptions& options, int threads) {
  for (size_t type = 0; type < source.nodes.size(); ++type) {
    const partition::DirectoryRange range =
        partition::DirectoryRangeFor(source.nodes[type].count, size, PartitionId(rank));
    for (const auto& [name, column] : source.nodes[type].columns) {
      if (!graph::HoldsFeatures(name, column, options.label_columns)) continue;
      const Status good = graph::CheckFeaturesConvert(column, options.features, range.first, range.last, threads);
      if (good.ok()) continue;
      return good.While(std::string(graph::kConvertingFeatures) + ": node type '" + source.schema.node_types()[type] +
                        "', column '" + name + "'");
    }
  }
  return {};
}

Status ConvertColumn(const graph::FeatureConversion& conversion, Tensor* column, int threads) {
  Result<Tensor> rows = graph::ConvertFeatures(*column, conversion, threads);
  if (!rows.ok()) return Internal("features that were found good: " + rows.status().message());
  *column = *std::move(rows);
  return {};
}

}  // namespace

Status CheckFeatureShare(const graph::SourceGraph& source, uint32_t rank, uint32_t size,
                         const graph::PreprocessOptions& options, int threads) {
  if (!options.features.ChangesValues()) return {};
  if (CheckFeatureRange(source, rank, size, options, threads).ok()) return {};
  // Checks all rows, to return the error that a single process would return.
  return CheckFeatureRange(source, 0, 1, options, threads);
}

Status ConvertFeatures(const graph::SourceGraph& graph, const std::vector<std::string>& source_columns,
                       const graph::PreprocessOptions& options, graph::Partition* partition, int threads) {
  if (!options.features.ChangesValues()) return {};
  const auto holds_features = [&](NodeTypeId type, const std::string& name) {
    const auto column = graph.nodes_of(type).columns.find(name);
    return column != graph.nodes_of(type).columns.end() &&
           graph::HoldsFeatures(name, column->second, options.label_columns);
  };
  for (uint16_t type = 0; type < partition->nodes.size(); ++type) {
    for (auto& [name, column] : partition->nodes[type].columns) {
      if (holds_features(NodeTypeId(type), name)) RETURN_IF_ERROR(ConvertColumn(options.features, &column, threads));
    }
  }
  for (uint16_t type = 0; type < partition->edge_columns.size(); ++type) {
    for (const std::string& name : source_columns) {
      if (!holds_features(graph.schema.SourceOf(EdgeTypeId(type)), name)) continue;
      Tensor& copies = partition->edge_columns[type].at(graph::SourceColumnName(name));
      RETURN_IF_ERROR(ConvertColumn(options.features, &copies, threads));
    }
  }
  return {};
}

}  // namespace espalier::partitioner
