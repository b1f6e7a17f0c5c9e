#include "services/trainer/task/edge_task.h"

#include "services/base/check.h"
#include "services/job/sampling/edge_plan.h"
#include "services/trainer/checkpoint/checkpoint_fields.h"
#include "services/trainer/model/link_scorer.h"
#include "services/trainer/model/model_error.h"
#include "services/trainer/results/edge_results.h"

namespace espalier::trainer {

std::map<std::string, std::string> EdgeModelMetadata(const job::Task& task, int64_t num_outputs) {
  return {{"label", task.label}, {"edgeOutputs", std::to_string(num_outputs)}, {"edgeType", task.edge_type}};
}

Status EdgeTask::PlanSeeds(const graph::GraphSchema& schema, sampler::EpochPlan* plan) const {
  ASSIGN_OR_RETURN(std::optional<sampler::EdgePlan> edges, job::MakeEdgePlan(training_.task, schema));
  plan->seed_type = schema.DestinationOf(edges->edge_type);
  plan->seeds = *std::move(edges);
  return Status();
}

Result<NodeData> EdgeTask::MakeData(const job::Training& training, const graph::GraphSchema& schema,
                                    sampler::RowSource& rows) const {
  ASSIGN_OR_RETURN(NodeData data, NodeData::MakeInputs(training, schema, rows));
  ASSIGN_OR_RETURN(const EdgeTypeId type, job::FindLabeledEdgeType(training.task, schema));
  data.SetEdgeTask(std::span(&type, 1), schema, training.model.hidden_size);
  return data;
}

Result<uint64_t> EdgeTask::CountSeeds(const NodeData&, const GraphAccess& graph, graph::SplitPartName part) const {
  ASSIGN_OR_RETURN(const EdgeTypeId type, job::FindLabeledEdgeType(training_.task, graph.schema()));
  return graph.seeds.CountOfEdges(type, training_.task.split, part);
}

std::string EdgeTask::ReasonForNoMetric(const NodeData&) const {
  const bool lacks_labels = head_ != nullptr && target_.label.empty();
  return lacks_labels ? "the edges have no column '" + training_.task.label + "'" : "";
}

Result<std::vector<std::string>> EdgeTask::AddHead(const HeadContext& context, Model& model) {
  std::optional<int64_t> num_outputs;
  if (context.file.has_value()) {
    ASSIGN_OR_RETURN(num_outputs, ReadNumEdgeOutputs(*context.file));
  }
  std::vector<std::string> warnings;
  ASSIGN_OR_RETURN(
      target_, MakeEdgeTarget(training_, context.graph, num_outputs, context.collective, context.timeouts, &warnings));
  head_ = std::make_shared<EdgeHead>(context.width, target_.num_outputs, training_.seed, training_.precision);
  model.register_module("edge_head", head_);
  return warnings;
}

TaskFacts EdgeTask::Facts(const graph::GraphSchema&) const {
  return {.model_metadata = EdgeModelMetadata(training_.task, target_.num_outputs),
          .checkpoint_fields = ListEdgeTaskFields(training_.task, target_.num_outputs),
          .num_edge_outputs = target_.num_outputs};
}

BatchLoss EdgeTask::MakeLoss(const NodeData&) const {
  return [target = target_, head = head_](const BatchTensors& batch, const torch::Tensor& embeddings) {
    ESPALIER_CHECK(batch.batch.edges.has_value()) << "a mini-batch without seed edges";
    const sampler::EdgeSeeds& edges = *batch.batch.edges;
    // The result must depend on `embeddings`: every rank must run the backward pass, in which batch normalization
    // communicates with the other ranks.
    if (edges.sources.empty()) return embeddings.sum() * 0.0;
    Result<torch::Tensor> labels = ToLabels(target, edges.labels);
    if (!labels.ok()) throw ModelError(std::move(labels).status());
    const torch::Tensor outputs =
        head->Outputs(SelectRows(embeddings, edges.sources), SelectRows(embeddings, edges.destinations));
    return Loss(target.loss, outputs, *labels, int64_t{batch.batch.global_num_seeds});
  };
}

Result<std::shared_ptr<TaskEvaluation>> EdgeTask::MakeEvaluation(const EvaluationContext& context) {
  const InferenceOptions& inference = context.inference;
  EdgeEvaluationOptions options{
      training_.evaluation.metric, target_,         head_, context.scoring_chunk, inference.timeouts,
      inference.before_chunk,      inference.phases};
  evaluation_ = std::make_shared<EdgeEvaluation>(context.graph, context.data, context.collective, std::move(options));
  return std::shared_ptr<TaskEvaluation>(evaluation_);
}

ResultsPlan EdgeTask::PlanResults(const job::DistTraining& job) const {
  return {.nodes = RequestOutputsAsEmbeddings(job), .edge_predictions = job::Saves(job, job::OutputKind::kPredictions)};
}

Result<NodeResultFiles> EdgeTask::ExportEdgePredictions(const NodeResultsContext& context, Model& model,
                                                        FullInference& inference, const std::string& tensor) {
  return ExportEdgeResults(context, model, inference, *evaluation_, tensor);
}

}  // namespace espalier::trainer
