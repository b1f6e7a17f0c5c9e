#include "services/server/link_messages.h"

#include <string>

#include "services/server/graph_requests.h"
#include "services/server/id_tensor.h"

namespace espalier::server {
namespace {

Result<sampler::NegativeKind> NegativeKindOf(minibatch::v1::Negatives negatives) {
  switch (negatives) {
    case minibatch::v1::NEGATIVES_UNIFORM: return sampler::NegativeKind::kUniform;
    case minibatch::v1::NEGATIVES_JOINT: return sampler::NegativeKind::kJoint;
    case minibatch::v1::NEGATIVES_IN_BATCH: return sampler::NegativeKind::kInBatch;
    case minibatch::v1::NEGATIVES_IN_DEGREE: return sampler::NegativeKind::kInDegree;
    case minibatch::v1::NEGATIVES_GLOBAL_UNIFORM: return sampler::NegativeKind::kGlobalUniform;
    default: return InvalidArgument("negatives " + std::to_string(negatives) + " do not exist");
  }
}

}  // namespace

Result<sampler::LinkPlan> LinkPlanOf(const minibatch::v1::StreamStart& start, const ServiceLimits& limits) {
  const minibatch::v1::LinkPlan& links = start.links();
  if (static_cast<uint32_t>(links.types_size()) > limits.max_relations) {
    return ResourceExhausted("links of " + std::to_string(links.types_size()) + " edge types, the limit is " +
                             std::to_string(limits.max_relations));
  }
  sampler::LinkPlan plan;
  for (const minibatch::v1::LinkType& type : links.types()) {
    sampler::LinkType& link = plan.types.emplace_back();
    ASSIGN_OR_RETURN(link.edge_type, EdgeTypeOf(type.edge_type()));
    if (!type.has_reverse_type()) continue;
    ASSIGN_OR_RETURN(link.reverse_type, EdgeTypeOf(type.reverse_type()));
  }
  ASSIGN_OR_RETURN(plan.negatives.kind, NegativeKindOf(links.negatives()));
  plan.negatives.count = links.negatives_per_edge();
  plan.exclude_batch = !links.draw_batch();
  plan.want_pair_ids = links.want_pair_ids();
  plan.edge_columns.assign(links.edge_columns().begin(), links.edge_columns().end());
  if (plan.edge_columns.size() > limits.max_edge_columns) {
    return ResourceExhausted("edges with rows of " + std::to_string(plan.edge_columns.size()) +
                             " columns, the limit is " + std::to_string(limits.max_edge_columns));
  }
  if (plan.negatives.count == 0) {
    if (plan.negatives.kind == sampler::NegativeKind::kUniform) return plan;
    return InvalidArgument("each edge needs at least one negative of this kind");
  }
  const bool of_whole_step = plan.negatives.kind == sampler::NegativeKind::kInDegree;
  const uint64_t ranks = of_whole_step ? 1 : start.num_trainers();
  const uint64_t edges = start.batch_size() / ranks + (start.batch_size() % ranks != 0 ? 1 : 0);
  if (edges <= limits.max_rows / plan.negatives.count) return plan;
  return ResourceExhausted(std::to_string(edges) + " edges with " + std::to_string(plan.negatives.count) +
                           " negatives each, the limit is " + std::to_string(limits.max_rows) + " negatives");
}

void AppendLinks(const sampler::LinkSeeds& links, minibatch::v1::LinkSeeds* header, std::vector<Tensor>* tensors) {
  header->set_negatives_per_edge(links.negatives_per_pair);
  for (const std::vector<uint32_t>* numbers : {&links.sources, &links.destinations, &links.relations, &links.set_ends,
                                               &links.negative_destinations, &links.negative_sources}) {
    tensors->push_back(Tensor::FromVector(*numbers));
  }
  tensors->push_back(Tensor::FromVector(links.negative_weights));
  if (!links.edge_ids.empty()) {
    header->set_has_edge_ids(true);
    tensors->push_back(IdTensor(links.edge_ids));
  }
  for (const auto& [column, rows] : links.rows) {
    header->add_edge_columns(column);
    tensors->push_back(rows);
  }
}

}  // namespace espalier::server
