#include "services/server/edge_messages.h"

#include "services/server/graph_requests.h"

namespace espalier::server {

Result<sampler::EdgePlan> EdgePlanOf(const minibatch::v1::EdgePlan& edges) {
  sampler::EdgePlan plan;
  ASSIGN_OR_RETURN(plan.edge_type, EdgeTypeOf(edges.edge_type()));
  plan.label = edges.label();
  plan.exclude_batch = edges.exclude_batch();
  if (!edges.has_exclude_reverse()) return plan;
  ASSIGN_OR_RETURN(plan.exclude_reverse, EdgeTypeOf(edges.exclude_reverse()));
  return plan;
}

void AppendEdges(const sampler::EdgeSeeds& edges, std::vector<Tensor>* tensors) {
  tensors->push_back(Tensor::FromVector(edges.sources));
  tensors->push_back(Tensor::FromVector(edges.destinations));
  tensors->push_back(edges.labels);
}

}  // namespace espalier::server
