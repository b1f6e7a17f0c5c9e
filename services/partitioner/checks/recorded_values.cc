// Each check finds the column that a field of the document names and turns the facts recorded about its values (a
// description of the first bad value, or a flag) into an error with the field's path. Checks stop at the first error.
#include "services/partitioner/checks/recorded_values.h"

#include <string>

#include "services/graph/preprocess.h"
#include "services/job/sampling/edge_plan.h"
#include "services/partitioner/checks/document_fit.h"
#include "services/partitioner/checks/label_facts.h"
#include "services/partitioner/checks/value_errors.h"

namespace espalier::partitioner {
namespace {

using Headers = std::map<std::string, ColumnHeader>;

const ColumnHeader* Find(const Headers& columns, const std::string& name) {
  const auto found = columns.find(name);
  return found == columns.end() ? nullptr : &found->second;
}

uint64_t CountTraining(const std::map<std::string, PartSizes>& splits, const std::string& split) {
  const auto found = splits.find(split);
  return found == splits.end() ? 0 : found->second.train;
}

Status CheckSplitLabels(const job::Task& task, const std::string& type, const LabelsOfSplits& labels,
                        const std::map<std::string, PartSizes>& splits) {
  const auto split = labels.find(task.split);
  if (split == labels.end()) return {};
  const auto column = split->second.find(task.label);
  if (column == split->second.end()) return {};
  return CheckLabelFacts(task, type, SelectFacts(ToLabelKind(task), column->second), CountTraining(splits, task.split));
}

Status CheckLabels(const job::Task& task, const GraphMetadata& metadata) {
  if (task.type == job::TaskType::kLinkPrediction) return {};
  if (!job::LabelsEdges(task.type)) {
    const NodeTypeId type = FindSeedNodeTypes(task, metadata.schema).front();
    return CheckSplitLabels(task, DescribeType(type, metadata.schema), metadata.node_labels[type.value],
                            metadata.node_splits[type.value]);
  }
  ASSIGN_OR_RETURN(const EdgeTypeId type, job::FindLabeledEdgeType(task, metadata.schema));
  return CheckSplitLabels(task, DescribeType(type, metadata.schema), metadata.edge_labels[type.value],
                          metadata.edge_splits[type.value]);
}

Status CheckFeatures(const job::DistTraining& job, const GraphMetadata& metadata) {
  const bool is_normalized = job.graph.preprocess.normalize_features != job::RowNormalization::kNone;
  for (size_t i = 0; i < job.training.inputs.size(); ++i) {
    const job::Input& input = job.training.inputs[i];
    ASSIGN_OR_RETURN(const NodeTypeId type, input.node_type.empty() ? metadata.schema.OnlyNodeType()
                                                                    : metadata.schema.FindNodeType(input.node_type));
    for (size_t f = 0; f < input.features.size(); ++f) {
      const ColumnHeader* const header = Find(metadata.node_columns[type.value], input.features[f]);
      if (header == nullptr) continue;
      const NamedColumn column{FeatureField(i, f), input.features[f], DescribeType(type, metadata.schema)};
      if (header->lacks_values) return LacksValuesError(column);
      if (is_normalized || header->bad_feature.empty()) continue;
      return WrongValue(column, header->bad_feature, kUsableFeature);
    }
  }
  return {};
}

// Returns the DescribeType of the edge type to which `column` of `type` belongs in the input graph: `type` itself or,
// if addReverseEdges created `type`, the original edge type, whose columns `type` shares.
std::string DescribeSourceType(EdgeTypeId type, const std::string& column, const GraphMetadata& metadata) {
  const std::string name = metadata.schema.EdgeType(type).Name();
  for (uint16_t other = 0; other < metadata.schema.num_edge_types(); ++other) {
    const ColumnHeader* const header = Find(metadata.edge_columns[other], column);
    const bool is_original = graph::ReverseRelation(metadata.schema.EdgeType(EdgeTypeId(other))).Name() == name;
    if (is_original && header != nullptr && *header == *Find(metadata.edge_columns[type.value], column)) {
      return DescribeType(EdgeTypeId(other), metadata.schema);
    }
  }
  return DescribeType(type, metadata.schema);
}

Status CheckWeights(const job::Training& training, const GraphMetadata& metadata) {
  const std::string& name = training.sampling.draw.weight_column;
  if (name.empty()) return {};
  bool has_edges = false;
  bool is_all_zero = true;
  const std::vector<bool> is_sampled =
      FindSampledEdgeTypes(training.sampling, metadata.schema, FindSeedNodeTypes(training.task, metadata.schema));
  for (uint16_t type = 0; type < is_sampled.size(); ++type) {
    if (!is_sampled[type]) continue;
    const ColumnHeader* const header = Find(metadata.edge_columns[type], name);
    if (header == nullptr) continue;  // an edge type without edges
    const NamedColumn column{kWeightField, name, DescribeSourceType(EdgeTypeId(type), name, metadata)};
    if (header->lacks_values) return LacksValuesError(column);
    if (!header->bad_weight.empty()) return WrongValue(column, header->bad_weight, kUsableWeight);
    if (metadata.num_edges[type] == 0) continue;
    has_edges = true;
    is_all_zero = is_all_zero && header->is_all_zero;
  }
  return has_edges && is_all_zero ? AllWeightsAreZeroError(name) : Status();
}

Status CheckSeedTimes(const job::Training& training, const GraphMetadata& metadata) {
  if (training.sampling.seed_time.empty() || job::HasEdgeSeeds(training.task.type)) return {};
  const NodeTypeId type = FindSeedNodeTypes(training.task, metadata.schema).front();
  const ColumnHeader* const header = Find(metadata.node_columns[type.value], training.sampling.seed_time);
  if (header == nullptr || header->bad_time.empty()) return {};
  return WrongValue({kSeedTimeField, training.sampling.seed_time, DescribeType(type, metadata.schema)},
                    header->bad_time, kUsableTime);
}

}  // namespace

Status CheckRecordedValues(const job::DistTraining& job, TrainedBy trained_by, const GraphMetadata& metadata) {
  if (!IsTrainedByEspalier(job, trained_by)) return {};
  if (!OnlyInfers(job.training)) RETURN_IF_ERROR(CheckLabels(job.training.task, metadata));
  RETURN_IF_ERROR(CheckFeatures(job, metadata));
  RETURN_IF_ERROR(CheckWeights(job.training, metadata));
  return CheckSeedTimes(job.training, metadata);
}

}  // namespace espalier::partitioner
