#include "services/trainer/epoch_plan.h"

#include "services/sampler/link_batch.h"
#include "services/trainer/link_plan.h"
#include "services/trainer/node_data.h"

namespace espalier::trainer {

Result<sampler::EpochPlan> EpochPlanOf(const job::Training& training, const graph::GraphSchema& schema,
                                       uint32_t num_trainers, Rank rank) {
  sampler::EpochPlan plan;
  ASSIGN_OR_RETURN(plan.links, LinkPlanOf(training.task, schema));
  if (plan.links.has_value()) {
    plan.seed_type = schema.DestinationOf(plan.links->types.front().edge_type);
    RETURN_IF_ERROR(sampler::CheckLinkPlan(plan, schema).While("spec.training.task"));
  } else {
    ASSIGN_OR_RETURN(plan.seed_type, NodeTypeOf(training.task.node_type, schema, "spec.training.task.nodeType"));
  }
  plan.split = training.task.split;
  plan.batch_size = static_cast<uint64_t>(training.batch_size);
  plan.num_trainers = num_trainers;
  plan.rank = rank;
  return plan;
}

}  // namespace espalier::trainer
