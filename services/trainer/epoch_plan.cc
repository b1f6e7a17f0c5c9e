#include "services/trainer/epoch_plan.h"

#include "services/job/sampling/edge_plan.h"
#include "services/job/sampling/link_plan.h"
#include "services/trainer/data/edge_target.h"
#include "services/trainer/link_task.h"

namespace espalier::trainer {

Result<sampler::EpochPlan> MakeEpochPlan(const job::Training& training, const graph::GraphSchema& schema,
                                         uint32_t num_trainers, Rank rank) {
  sampler::EpochPlan plan;
  ASSIGN_OR_RETURN(std::optional<sampler::LinkPlan> links, job::MakeLinkPlan(training.task, schema));
  ASSIGN_OR_RETURN(std::optional<sampler::EdgePlan> edges, job::MakeEdgePlan(training.task, schema));
  if (edges.has_value()) {
    plan.seed_type = schema.DestinationOf(edges->edge_type);
    plan.seeds = *std::move(edges);
  } else if (links.has_value()) {
    plan.seed_type = schema.DestinationOf(links->types.front().edge_type);
    plan.seeds = *std::move(links);
  } else {
    ASSIGN_OR_RETURN(plan.seed_type, FindNodeType(training.task.node_type, schema, "spec.training.task.nodeType"));
  }
  plan.split = training.task.split;
  plan.batch_size = static_cast<uint64_t>(training.batch_size);
  plan.num_trainers = num_trainers;
  plan.rank = rank;
  return plan;
}

Result<uint32_t> StepsPerEpoch(const job::Training& training, const NodeData& data, const GraphAccess& graph) {
  ASSIGN_OR_RETURN(const uint64_t count,
                   job::LabelsEdges(training.task.type) ? CountLabeledEdges(training, graph)
                   : PredictsLinks(training)
                       ? CountTrainingEdges(training, graph)
                       : graph.seeds.Count(data.seed_type(), training.task.split, graph::SplitPartName::kTrain));
  if (count == 0 && !OnlyInfers(training)) {
    return InvalidArgument("split '" + training.task.split + "' has no training " +
                           (job::IsOfEdges(training.task.type) ? "edges" : "nodes"));
  }
  const auto batch_size = static_cast<uint64_t>(training.batch_size);
  const uint64_t steps = (count + batch_size - 1) / batch_size;
  if (steps > UINT32_MAX) return InvalidArgument("an epoch of " + std::to_string(steps) + " steps; use larger batches");
  return static_cast<uint32_t>(steps);
}

}  // namespace espalier::trainer
