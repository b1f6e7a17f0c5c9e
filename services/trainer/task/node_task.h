// Node classification and regression: the model's last layer computes the outputs, and no head is needed.
#pragma once

#include <memory>
#include <string>

#include "services/trainer/task/task.h"

namespace espalier::trainer {

class NodeTask final : public Task {
 public:
  explicit NodeTask(const job::Training& training) : training_(training) {}

  TaskWords words() const override { return {"nodes", "edge", ""}; }
  Status PlanSeeds(const graph::GraphSchema& schema, sampler::EpochPlan* plan) const override;
  Result<NodeData> MakeData(const job::Training& training, const graph::GraphSchema& schema,
                            sampler::RowSource& rows) const override;
  Result<uint64_t> CountSeeds(const NodeData& data, const GraphAccess& graph, graph::SplitPartName part) const override;
  std::string ReasonForNoMetric(const NodeData& data) const override;
  TaskFacts Facts(const graph::GraphSchema& schema) const override;
  BatchLoss MakeLoss(const NodeData& data) const override;
  Result<std::shared_ptr<TaskEvaluation>> MakeEvaluation(const EvaluationContext& context) override;
  ResultsPlan PlanResults(const job::DistTraining& job) const override;

 private:
  const job::Training training_;
};

}  // namespace espalier::trainer
