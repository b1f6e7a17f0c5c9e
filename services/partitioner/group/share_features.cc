// A process checks the range of each feature column's rows that DirectoryRangeFor returns for its rank. If the check
// fails, it checks all rows, so that its error names the same row as that of a single process. Magnitudes are exchanged
// as JSON in the marker "feature-magnitudes"; every process takes the maximum over all markers.
#include "services/partitioner/group/share_features.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/format/files/json_fields.h"
#include "services/format/files/strict_json.h"
#include "services/graph/feature_conversion.h"
#include "services/graph/feature_scales.h"
#include "services/partition/build_partition.h"
#include "services/partition/partition_layout.h"

namespace espalier::partitioner {
namespace {

std::string DescribeConversion(const graph::SourceGraph& source, size_t type, const std::string& column) {
  return std::string(graph::kConvertingFeatures) + ": node type '" + source.schema.node_types()[type] + "', column '" +
         column + "'";
}

// Checks range `rank` of the `size` ranges of each feature column's rows. Returns the error for the first row that
// cannot be converted.
Status CheckFeatureRange(const graph::SourceGraph& source, uint32_t rank, uint32_t size,
                         const graph::PreprocessOptions& options, int threads) {
  for (size_t type = 0; type < source.nodes.size(); ++type) {
    const partition::DirectoryRange range =
        partition::DirectoryRangeFor(source.nodes[type].count, size, PartitionId(rank));
    for (const auto& [name, column] : source.nodes[type].columns) {
      if (!graph::HoldsFeatures(name, column, options.label_columns)) continue;
      const Status good = graph::CheckFeaturesConvert(column, options.features, range.first, range.last, threads);
      if (!good.ok()) return good.While(DescribeConversion(source, type, name));
    }
  }
  return {};
}

// By NodeTypeId and column: for each position in a row, the largest magnitude over all rows of a range.
using Magnitudes = std::vector<std::map<std::string, std::vector<double>>>;

// Returns the magnitudes in range `rank` of the `size` ranges of each feature column's rows, or the error for the first
// row that cannot be converted to I8.
Result<Magnitudes> FindMagnitudes(const graph::SourceGraph& source, uint32_t rank, uint32_t size,
                                  const graph::PreprocessOptions& options, int threads) {
  Magnitudes magnitudes(source.nodes.size());
  for (size_t type = 0; type < source.nodes.size(); ++type) {
    const partition::DirectoryRange range =
        partition::DirectoryRangeFor(source.nodes[type].count, size, PartitionId(rank));
    for (const auto& [name, column] : source.nodes[type].columns) {
      if (!graph::HoldsFeatures(name, column, options.label_columns)) continue;
      ASSIGN_OR_RETURN(magnitudes[type][name], graph::FindLargestMagnitudes(column, options.features.normalizes_rows,
                                                                            range.first, range.last, threads)
                                                   .While(DescribeConversion(source, type, name)));
    }
  }
  return magnitudes;
}

// Replaces each magnitude of one node type by the maximum of the magnitude and its value in `columns`, which is an
// object with a list of numbers for each column.
Status MergeMagnitudesOfType(const format::JsonFields& columns, std::map<std::string, std::vector<double>>* of_type) {
  for (auto& [name, largest] : *of_type) {
    std::vector<double>& values = largest;
    size_t j = 0;
    const Status read = columns.ForEach(name.c_str(), [&](const nlohmann::json& value, const std::string& path) {
      if (!value.is_number() || j == values.size())
        return InvalidArgument(path + ": expected a list of " + std::to_string(values.size()) + " numbers");
      values[j] = std::max(values[j], value.get<double>());
      ++j;
      return Status();
    });
    RETURN_IF_ERROR(read);
    if (j != values.size())
      return columns.InvalidField(name.c_str(), "expected a list of " + std::to_string(values.size()) + " numbers");
  }
  return {};
}

// Replaces each magnitude by the maximum of the magnitude and that of another process. `text` is the JSON of the other
// process's marker: {"types": [an object for each node type]}.
Status MergeMagnitudes(const std::string& text, Magnitudes* magnitudes) {
  constexpr int kDepth = 4;
  ASSIGN_OR_RETURN(const nlohmann::json document, format::ParseStrictJson(text, kDepth));
  ASSIGN_OR_RETURN(const format::JsonFields fields, format::JsonFields::Of(document, ""));
  size_t type = 0;
  RETURN_IF_ERROR(fields.ForEach("types", [&](const nlohmann::json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const format::JsonFields columns, format::JsonFields::Of(element, path));
    if (type == magnitudes->size())
      return InvalidArgument(path + ": expected only " + std::to_string(type) + " node types");
    return MergeMagnitudesOfType(columns, &(*magnitudes)[type++]);
  }));
  return type == magnitudes->size()
             ? Status()
             : InvalidArgument("types: expected " + std::to_string(magnitudes->size()) + " node types");
}

// Returns the error of CheckSourceColumns for source columns that will have scales.
Status CheckNoSourceHasScales(const graph::SourceGraph& source, const std::vector<std::string>& source_columns,
                              const graph::PreprocessOptions& options) {
  for (const std::string& name : source_columns) {
    for (const graph::NodeSet& nodes : source.nodes) {
      const auto column = nodes.columns.find(name);
      if (column == nodes.columns.end()) continue;
      if (graph::HoldsFeatures(name, column->second, options.label_columns)) {
        return partition::SourceColumnWithScalesError(name);
      }
    }
  }
  return {};
}

Result<FeatureScales> AgreeOnScales(ProcessGroup& group, const graph::SourceGraph& source,
                                    const std::vector<std::string>& source_columns,
                                    const graph::PreprocessOptions& options, int threads) {
  constexpr const char* kMarker = "feature-magnitudes";
  Result<Magnitudes> found = FindMagnitudes(source, group.rank(), group.size(), options, threads);
  // Checks all rows, to return the error that a single process would return.
  if (!found.ok()) found = FindMagnitudes(source, 0, 1, options, threads);
  if (!found.ok()) return found.status();
  RETURN_IF_ERROR(CheckNoSourceHasScales(source, source_columns, options));
  Magnitudes magnitudes = *std::move(found);
  nlohmann::json document;
  document["types"] = magnitudes;
  RETURN_IF_ERROR(group.Publish(kMarker, document.dump()));
  for (uint32_t rank = 0; rank < group.size(); ++rank) {
    ASSIGN_OR_RETURN(const std::string text, group.Await(rank, kMarker));
    const Status good = MergeMagnitudes(text, &magnitudes);
    if (!good.ok()) return DataLoss("the magnitudes of process " + std::to_string(rank) + ": " + good.message());
  }
  FeatureScales scales(magnitudes.size());
  for (size_t type = 0; type < magnitudes.size(); ++type) {
    for (const auto& [name, largest] : magnitudes[type]) scales[type][name] = graph::ComputeScales(largest);
  }
  return scales;
}

Status ConvertColumn(const graph::FeatureConversion& conversion, Tensor* column, int threads) {
  Result<Tensor> rows = graph::ConvertFeatures(*column, conversion, threads);
  if (!rows.ok())
    return Internal("features that FindFeatureScales has checked cannot be converted: " + rows.status().message());
  *column = *std::move(rows);
  return {};
}

}  // namespace

Result<FeatureScales> FindFeatureScales(ProcessGroup& group, const graph::SourceGraph& source,
                                        const std::vector<std::string>& source_columns,
                                        const graph::PreprocessOptions& options, int threads) {
  if (options.features.HasScales()) return AgreeOnScales(group, source, source_columns, options, threads);
  if (!options.features.ChangesValues()) return FeatureScales();
  if (CheckFeatureRange(source, group.rank(), group.size(), options, threads).ok()) return FeatureScales();
  // Checks all rows, to return the error that a single process would return.
  RETURN_IF_ERROR(CheckFeatureRange(source, 0, 1, options, threads));
  return FeatureScales();
}

Status ConvertFeatures(const graph::SourceGraph& graph, const std::vector<std::string>& source_columns,
                       const graph::PreprocessOptions& options, const FeatureScales& scales,
                       graph::Partition* partition, int threads) {
  if (!options.features.ChangesValues()) return {};
  const auto holds_features = [&](NodeTypeId type, const std::string& name) {
    const auto column = graph.nodes_of(type).columns.find(name);
    return column != graph.nodes_of(type).columns.end() &&
           graph::HoldsFeatures(name, column->second, options.label_columns);
  };
  for (uint16_t type = 0; type < partition->nodes.size(); ++type) {
    graph::OwnedNodes& nodes = partition->nodes[type];
    for (auto& [name, column] : nodes.columns) {
      if (!holds_features(NodeTypeId(type), name)) continue;
      if (!options.features.HasScales()) {
        RETURN_IF_ERROR(ConvertColumn(options.features, &column, threads));
        continue;
      }
      const std::vector<float>& of_column = nodes.scales[name] = scales[type].at(name);
      column = graph::ScaleToIntegers(column, options.features.normalizes_rows, of_column, threads);
    }
  }
  if (options.features.HasScales()) return {};  // no source column has features
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
