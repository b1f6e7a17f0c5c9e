#include "services/apps/partitioning/recorded_values.h"

#include <string>

#include "services/apps/partitioning/document_fit.h"
#include "services/apps/partitioning/value_errors.h"

namespace espalier::partitioning {
namespace {

using Headers = std::map<std::string, ColumnHeader>;

const ColumnHeader* Find(const Headers& columns, const std::string& name) {
  const auto found = columns.find(name);
  return found == columns.end() ? nullptr : &found->second;
}

Status CheckFeatures(const job::DistTraining& job, const GraphNames& names) {
  for (size_t i = 0; i < job.training.inputs.size(); ++i) {
    const job::Input& input = job.training.inputs[i];
    ASSIGN_OR_RETURN(const NodeTypeId type, input.node_type.empty() ? names.schema.OnlyNodeType()
                                                                    : names.schema.FindNodeType(input.node_type));
    for (size_t f = 0; f < input.features.size(); ++f) {
      const ColumnHeader* const header = Find(names.node_columns[type.value], input.features[f]);
      if (header == nullptr || !header->lacks_values) continue;
      return LacksValues({FeatureField(i, f), input.features[f], OwnerName(type, names.schema)});
    }
  }
  return {};
}

Status CheckWeights(const job::Training& training, const GraphNames& names) {
  const std::string& name = training.sampling.draw.weight_column;
  if (name.empty()) return {};
  uint64_t num_weights = 0;
  bool is_all_zero = true;
  const std::vector<bool> is_drawn =
      DrawnEdgeTypes(training.sampling, names.schema, SeedTypes(training.task, names.schema));
  for (uint16_t type = 0; type < is_drawn.size(); ++type) {
    if (!is_drawn[type]) continue;
    const ColumnHeader* const header = Find(names.edge_columns[type], name);
    if (header == nullptr) continue;  // of a relation without edges
    const NamedColumn column{kWeightField, name, OwnerName(EdgeTypeId(type), names.schema)};
    if (header->lacks_values) return LacksValues(column);
    if (!header->bad_weight.empty()) return WrongValue(column, header->bad_weight, kUsableWeight);
    num_weights += names.num_edges[type];
    is_all_zero = is_all_zero && (header->is_all_zero || names.num_edges[type] == 0);
  }
  return num_weights > 0 && is_all_zero ? AllWeightsAreZero(name, num_weights) : Status();
}

}  // namespace

Status CheckRecordedValues(const job::DistTraining& job, TrainedBy trained_by, const GraphNames& names) {
  if (!IsTrainedByEspalier(job, trained_by)) return {};
  RETURN_IF_ERROR(CheckFeatures(job, names));
  return CheckWeights(job.training, names);
}

}  // namespace espalier::partitioning
