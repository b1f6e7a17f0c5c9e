#include "services/job/sampling/edge_plan.h"

#include <string>

#include "services/job/sampling/link_plan.h"
#include "services/sampler/batches/edge_batch.h"

namespace espalier::job {

Result<EdgeTypeId> FindLabeledEdgeType(const Task& task, const graph::GraphSchema& schema) {
  return (task.edge_type.empty() ? schema.OnlyEdgeType() : schema.FindEdgeType(task.edge_type))
      .While("spec.training.task.edgeType");
}

Result<std::optional<sampler::EdgePlan>> MakeEdgePlan(const Task& task, const graph::GraphSchema& schema) {
  if (!LabelsEdges(task.type)) return std::optional<sampler::EdgePlan>();
  sampler::EdgePlan plan;
  ASSIGN_OR_RETURN(plan.edge_type, FindLabeledEdgeType(task, schema));
  plan.label = task.label;
  plan.exclude_batch = task.exclude != ExcludeEdges::kNone;
  if (task.exclude == ExcludeEdges::kReverseEdges) {
    ASSIGN_OR_RETURN(plan.exclude_reverse, FindReverseType(task, schema, plan.edge_type));
    if (!plan.exclude_reverse.has_value()) {
      return InvalidArgument(
          "spec.training.task.exclude: ReverseEdges needs reverseEdgeType or graph.preprocess.addReverseEdges");
    }
  }
  RETURN_IF_ERROR(sampler::CheckEdgePlan(plan, schema).While("spec.training.task"));
  return std::optional<sampler::EdgePlan>(std::move(plan));
}

}  // namespace espalier::job
