#include "services/trainer/link_plan.h"

namespace espalier::trainer {
namespace {

sampler::NegativeKind KindOf(job::Negatives negatives) {
  switch (negatives) {
    case job::Negatives::kUniform: return sampler::NegativeKind::kUniform;
    case job::Negatives::kJoint: return sampler::NegativeKind::kJoint;
    case job::Negatives::kInBatch: return sampler::NegativeKind::kInBatch;
    case job::Negatives::kInDegree: return sampler::NegativeKind::kInDegree;
    case job::Negatives::kGlobalUniform: return sampler::NegativeKind::kGlobalUniform;
  }
  return sampler::NegativeKind::kUniform;
}

}  // namespace

Result<EdgeTypeId> EdgeTypeOf(const job::Task& task, const graph::GraphSchema& schema) {
  if (!task.edge_type.empty()) return schema.FindEdgeType(task.edge_type).While("spec.training.task.edgeType");
  if (schema.num_edge_types() == 1) return EdgeTypeId(0);
  return InvalidArgument("spec.training.task.edgeType: expected an edge type, because the graph has " +
                         std::to_string(schema.num_edge_types()));
}

Result<std::optional<EdgeTypeId>> ReverseTypeOf(const job::Task& task, const graph::GraphSchema& schema) {
  ASSIGN_OR_RETURN(const EdgeTypeId type, EdgeTypeOf(task, schema));
  if (task.reverse_edge_type.empty() && !task.reverse_edges_added) return std::optional<EdgeTypeId>();
  if (task.reverse_edge_type.empty() && schema.is_homogeneous()) return std::optional<EdgeTypeId>(type);
  std::string name = task.reverse_edge_type;
  if (name.empty()) {
    const graph::CanonicalEdgeType& forward = schema.EdgeType(type);
    name = graph::CanonicalEdgeType{forward.destination, "rev_" + forward.relation, forward.source}.Name();
  }
  ASSIGN_OR_RETURN(const EdgeTypeId reverse, schema.FindEdgeType(name).While("spec.training.task.reverseEdgeType"));
  return std::optional<EdgeTypeId>(reverse);
}

Result<std::optional<sampler::LinkPlan>> LinkPlanOf(const job::Task& task, const graph::GraphSchema& schema) {
  if (task.type != job::TaskType::kLinkPrediction) return std::optional<sampler::LinkPlan>();
  sampler::LinkPlan plan;
  ASSIGN_OR_RETURN(plan.edge_type, EdgeTypeOf(task, schema));
  ASSIGN_OR_RETURN(plan.reverse_type, ReverseTypeOf(task, schema));
  plan.negatives = {KindOf(task.negatives), static_cast<uint32_t>(task.num_negatives)};
  return std::optional<sampler::LinkPlan>(plan);
}

}  // namespace espalier::trainer
