// Edge classification and regression: a head computes the outputs of an edge from the embeddings of its endpoints.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/trainer/evaluation/edge_evaluation.h"
#include "services/trainer/task/task.h"

namespace espalier::trainer {

// Returns the entries that the task adds to a model file's metadata. `num_outputs` is the number of the head's outputs.
std::map<std::string, std::string> EdgeModelMetadata(const job::Task& task, int64_t num_outputs);

class EdgeTask final : public Task {
 public:
  explicit EdgeTask(const job::Training& training) : training_(training) {}

  TaskWords words() const override { return {"edges", "edge other than held-out edges", "head for edges"}; }
  Status PlanSeeds(const graph::GraphSchema& schema, sampler::EpochPlan* plan) const override;
  Result<NodeData> MakeData(const job::Training& training, const graph::GraphSchema& schema,
                            sampler::RowSource& rows) const override;
  Result<uint64_t> CountSeeds(const NodeData& data, const GraphAccess& graph, graph::SplitPartName part) const override;
  std::string ReasonForNoMetric(const NodeData& data) const override;
  // Reads the labels of the split (MakeEdgeTarget) and adds the submodule "edge_head". With context.file, the head has
  // as many outputs as the head in that file; otherwise it has as many as the labels need.
  Result<std::vector<std::string>> AddHead(const HeadContext& context, Model& model) override;
  TaskFacts Facts(const graph::GraphSchema& schema) const override;
  // The loss is divided by the number of seed edges of all trainers (losses.h). Mini-batches must have
  // MiniBatch::edges (checked).
  BatchLoss MakeLoss(const NodeData& data) const override;
  Result<std::shared_ptr<TaskEvaluation>> MakeEvaluation(const EvaluationContext& context) override;
  ResultsPlan PlanResults(const job::DistTraining& job) const override;
  Result<NodeResultFiles> ExportEdgePredictions(const NodeResultsContext& context, Model& model,
                                                FullInference& inference, const std::string& tensor) override;

 private:
  const job::Training training_;
  EdgeTarget target_;                           // set by AddHead
  std::shared_ptr<EdgeHead> head_;              // null before AddHead
  std::shared_ptr<EdgeEvaluation> evaluation_;  // null before MakeEvaluation
};

}  // namespace espalier::trainer
