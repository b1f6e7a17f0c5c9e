#include "services/trainer/data/edge_plan.h"

#include <string>

#include "services/trainer/data/link_plan.h"

namespace espalier::trainer {

Result<EdgeTypeId> LabelledEdgeTypeOf(const job::Task& task, const graph::GraphSchema& schema) {
  return (task.edge_type.empty() ? schema.OnlyEdgeType() : schema.FindEdgeType(task.edge_type))
      .While("spec.training.task.edgeType");
}

Result<std::optional<sampler::EdgePlan>> EdgePlanOf(const job::Task& task, const graph::GraphSchema& schema) {
  if (!job::LabelsEdges(task.type)) return std::optional<sampler::EdgePlan>();
  sampler::EdgePlan plan;
  ASSIGN_OR_RETURN(plan.edge_type, LabelledEdgeTypeOf(task, schema));
  plan.label = task.label;
  plan.exclude_batch = task.exclude != job::ExcludeEdges::kNone;
  if (task.exclude == job::ExcludeEdges::kReverseEdges) {
    ASSIGN_OR_RETURN(plan.exclude_reverse, ReverseTypeOf(task, schema, plan.edge_type));
    if (!plan.exclude_reverse.has_value()) {
      return InvalidArgument("spec.training.task.exclude: the graph has no reverse edges: name reverseEdgeType");
    }
  }
  return std::optional<sampler::EdgePlan>(std::move(plan));
}

}  // namespace espalier::trainer
