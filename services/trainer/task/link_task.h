// Link prediction: a scorer computes the score of a possible edge from the embeddings of its endpoints (link_scorer.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/trainer/model/link_scorer.h"
#include "services/trainer/task/task.h"

namespace espalier::trainer {

// Returns the entries that the task adds to a model file's metadata. `relations` contains the canonical name of the
// edge type for each row of the parameter `scorer.relation`; it is empty for the Dot scorer.
std::map<std::string, std::string> LinkModelMetadata(const job::Task& task, const std::vector<std::string>& relations);

class LinkTask final : public Task {
 public:
  explicit LinkTask(const job::Training& training) : training_(training) {}

  TaskWords words() const override { return {"edges", "edge other than held-out edges", "scorer of links"}; }
  Status PlanSeeds(const graph::GraphSchema& schema, sampler::EpochPlan* plan) const override;
  Result<NodeData> MakeData(const job::Training& training, const graph::GraphSchema& schema,
                            sampler::RowSource& rows) const override;
  Result<uint64_t> CountSeeds(const NodeData& data, const GraphAccess& graph, graph::SplitPartName part) const override;
  // Link prediction needs no labels.
  std::string ReasonForNoMetric(const NodeData&) const override { return ""; }
  // Adds the submodule "scorer", with one relation per edge type of the task. InvalidArgument if the width of the
  // model's outputs differs from the document's hiddenSize (unless the model is a TorchScript module), if the width is
  // odd and the scorer needs complex numbers, or if a trainer's share of a step's negatives exceeds
  // job::MaxNegativesOfShare.
  Result<std::vector<std::string>> AddHead(const HeadContext& context, Model& model) override;
  TaskFacts Facts(const graph::GraphSchema& schema) const override;
  BatchLoss MakeLoss(const NodeData& data) const override;
  Result<std::shared_ptr<TaskEvaluation>> MakeEvaluation(const EvaluationContext& context) override;
  ResultsPlan PlanResults(const job::DistTraining& job) const override;

 private:
  const job::Training training_;
  std::shared_ptr<LinkScorer> scorer_;  // null before AddHead
  std::vector<std::string> relations_;  // as in LinkModelMetadata
};

}  // namespace espalier::trainer
