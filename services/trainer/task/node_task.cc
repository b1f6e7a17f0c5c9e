#include "services/trainer/task/node_task.h"

#include "services/trainer/evaluation/node_evaluation.h"

namespace espalier::trainer {

Status NodeTask::PlanSeeds(const graph::GraphSchema& schema, sampler::EpochPlan* plan) const {
  ASSIGN_OR_RETURN(plan->seed_type, FindNodeType(training_.task.node_type, schema, "spec.training.task.nodeType"));
  return Status();
}

Result<NodeData> NodeTask::MakeData(const job::Training& training, const graph::GraphSchema& schema,
                                    sampler::RowSource& rows) const {
  return NodeData::Make(training, schema, rows);
}

Result<uint64_t> NodeTask::CountSeeds(const NodeData& data, const GraphAccess& graph, graph::SplitPartName part) const {
  return graph.seeds.Count(data.seed_type(), training_.task.split, part);
}

std::string NodeTask::ReasonForNoMetric(const NodeData& data) const {
  return data.has_labels() ? "" : "the graph has no column '" + training_.task.label + "'";
}

TaskFacts NodeTask::Facts(const graph::GraphSchema&) const {
  return {.model_metadata = {{"label", training_.task.label}}};
}

BatchLoss NodeTask::MakeLoss(const NodeData& data) const {
  return [kind = data.loss_kind()](const BatchTensors& batch, const torch::Tensor& outputs) {
    return Loss(kind, outputs, batch.labels, int64_t{batch.batch.global_num_seeds});
  };
}

Result<std::shared_ptr<TaskEvaluation>> NodeTask::MakeEvaluation(const EvaluationContext& context) {
  ASSIGN_OR_RETURN(std::shared_ptr<NodeEvaluation> nodes,
                   NodeEvaluation::Make(context.graph, context.data, context.collective,
                                        {training_.evaluation.metric, training_.task.split,
                                         training_.evaluation.neighborhood, context.sampling, context.inference}));
  return std::shared_ptr<TaskEvaluation>(std::move(nodes));
}

ResultsPlan NodeTask::PlanResults(const job::DistTraining& job) const { return {.nodes = RequestNodeResults(job)}; }

}  // namespace espalier::trainer
