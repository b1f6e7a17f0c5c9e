#include "services/trainer/epoch_plan.h"

#include "services/trainer/task/make_task.h"

namespace espalier::trainer {

Result<sampler::EpochPlan> MakeEpochPlan(const job::Training& training, const graph::GraphSchema& schema,
                                         uint32_t num_trainers, Rank rank) {
  sampler::EpochPlan plan;
  RETURN_IF_ERROR(MakeTask(training)->PlanSeeds(schema, &plan));
  plan.split = training.task.split;
  plan.batch_size = static_cast<uint64_t>(training.batch_size);
  plan.num_trainers = num_trainers;
  plan.rank = rank;
  return plan;
}

Result<uint32_t> StepsPerEpoch(const job::Training& training, const Task& task, const NodeData& data,
                               const GraphAccess& graph) {
  ASSIGN_OR_RETURN(const uint64_t count, task.CountSeeds(data, graph, graph::SplitPartName::kTrain));
  if (count == 0 && !OnlyInfers(training)) {
    return InvalidArgument("split '" + training.task.split + "' has no training " + task.words().seeds);
  }
  const auto batch_size = static_cast<uint64_t>(training.batch_size);
  const uint64_t steps = (count + batch_size - 1) / batch_size;
  if (steps > UINT32_MAX)
    return InvalidArgument("an epoch has " + std::to_string(steps) + " steps, expected at most " +
                           std::to_string(UINT32_MAX) + "; set a larger spec.training.batchSize");
  return static_cast<uint32_t>(steps);
}

}  // namespace espalier::trainer
