// AddHead checks that the model's outputs can be embeddings and makes the scorer as a submodule of the model. The loss
// and the evaluation use the same scorer. Its relations are the edge types of the task in the order of FindEdgeTypes;
// model files and checkpoints record them by name.
#include "services/trainer/task/link_task.h"

#include "absl/strings/str_join.h"
#include "services/job/enum_names.h"
#include "services/job/sampling/link_plan.h"
#include "services/trainer/checkpoint/checkpoint_fields.h"
#include "services/trainer/evaluation/link_evaluation.h"
#include "services/trainer/model/link_loss.h"

namespace espalier::trainer {
namespace {

// Returns a scorer of embeddings [n, width]; see LinkTask::AddHead.
Result<std::shared_ptr<LinkScorer>> MakeScorer(const job::Training& training, const graph::GraphSchema& schema,
                                               int64_t width) {
  const job::Model& model = training.model;
  if (model.type != job::ModelType::kTorchScript && width != model.hidden_size) {
    return InvalidArgument("spec.training.model.uri: the model has " + std::to_string(width) +
                           " outputs, expected spec.training.model.hiddenSize (" + std::to_string(model.hidden_size) +
                           "), because the outputs are the embeddings");
  }
  const job::Scorer scorer = training.task.scorer;
  const bool is_complex = scorer == job::Scorer::kComplEx || scorer == job::Scorer::kRotatE;
  if (is_complex && width % 2 != 0) {
    return InvalidArgument("spec.training.model.uri: the model's embeddings have width " + std::to_string(width) +
                           ", but " + job::ToString(scorer) +
                           " needs an even width, because two values form a complex number");
  }
  ASSIGN_OR_RETURN(const std::vector<EdgeTypeId> types, job::FindEdgeTypes(training.task, schema));
  return std::make_shared<LinkScorer>(scorer, static_cast<int64_t>(types.size()), width, training.seed);
}

Result<std::vector<std::string>> ListScorerRelations(const job::Training& training, const graph::GraphSchema& schema) {
  if (training.task.scorer == job::Scorer::kDot) return std::vector<std::string>();
  return job::CanonicalNamesOfEdgeTypes(training.task, schema);
}

// Returns OK if a trainer's share of a step's negatives, with embeddings of this width, is within its limits.
Status CheckNegatives(const job::Training& training, int64_t width, uint32_t num_trainers) {
  const int64_t negatives = job::NegativesOfShare(training, num_trainers);
  const int64_t max_negatives = job::MaxNegativesOfShare(training.task.negatives, width);
  if (negatives <= max_negatives) return Status();
  const std::string reason = max_negatives == job::kMaxNegativesOfTrainer
                                 ? ""
                                 : ", because their embeddings, of width " + std::to_string(width) + ", have at most " +
                                       std::to_string(job::kMaxNegativeValuesOfTrainer) + " values";
  return InvalidArgument("spec.training.task.negatives.count: a trainer's share of a step has " +
                         std::to_string(negatives) + " negatives, expected at most " + std::to_string(max_negatives) +
                         reason);
}

// Returns the options that follow from the document. The caller sets chunk_nodes, timeouts, before_chunk and phases.
Result<LinkEvaluationOptions> MakeLinkEvaluationOptions(const job::Training& training,
                                                        const graph::GraphSchema& schema) {
  LinkEvaluationOptions options;
  options.metric = training.evaluation.metric;
  options.split = training.task.split;
  ASSIGN_OR_RETURN(const std::optional<sampler::LinkPlan> plan, job::MakeLinkPlan(training.task, schema));
  options.types = plan->types;
  options.num_candidates = static_cast<uint32_t>(training.evaluation.candidates);
  options.filtered = training.evaluation.filtered;
  options.k = training.evaluation.k;
  options.seed = training.seed;
  return options;
}

}  // namespace

std::map<std::string, std::string> LinkModelMetadata(const job::Task& task, const std::vector<std::string>& relations) {
  std::map<std::string, std::string> metadata = {{"scorer", job::ToString(task.scorer)},
                                                 {"edgeType", absl::StrJoin(job::EdgeTypeNames(task), ",")}};
  if (!relations.empty()) metadata["scorerRelations"] = absl::StrJoin(relations, ",");
  return metadata;
}

Status LinkTask::PlanSeeds(const graph::GraphSchema& schema, sampler::EpochPlan* plan) const {
  ASSIGN_OR_RETURN(std::optional<sampler::LinkPlan> links, job::MakeLinkPlan(training_.task, schema));
  plan->seed_type = schema.DestinationOf(links->types.front().edge_type);
  plan->seeds = *std::move(links);
  return Status();
}

Result<NodeData> LinkTask::MakeData(const job::Training& training, const graph::GraphSchema& schema,
                                    sampler::RowSource& rows) const {
  ASSIGN_OR_RETURN(NodeData data, NodeData::MakeInputs(training, schema, rows));
  ASSIGN_OR_RETURN(const std::vector<EdgeTypeId> types, job::FindEdgeTypes(training.task, schema));
  data.SetEdgeTask(types, schema, training.model.hidden_size);
  return data;
}

Result<uint64_t> LinkTask::CountSeeds(const NodeData&, const GraphAccess& graph, graph::SplitPartName part) const {
  ASSIGN_OR_RETURN(const std::vector<EdgeTypeId> types, job::FindEdgeTypes(training_.task, graph.schema()));
  uint64_t count = 0;
  for (const EdgeTypeId type : types) {
    ASSIGN_OR_RETURN(const uint64_t num_edges, graph.seeds.CountOfEdges(type, training_.task.split, part));
    count += num_edges;
  }
  return count;
}

Result<std::vector<std::string>> LinkTask::AddHead(const HeadContext& context, Model& model) {
  const graph::GraphSchema& schema = context.graph.schema();
  ASSIGN_OR_RETURN(scorer_, MakeScorer(training_, schema, context.width));
  ASSIGN_OR_RETURN(relations_, ListScorerRelations(training_, schema));
  RETURN_IF_ERROR(CheckNegatives(training_, context.width, context.collective.size()));
  model.register_module("scorer", scorer_);
  return std::vector<std::string>();
}

TaskFacts LinkTask::Facts(const graph::GraphSchema& schema) const {
  return {.model_metadata = LinkModelMetadata(training_.task, relations_),
          .checkpoint_fields = ListLinkTaskFields(training_, schema)};
}

BatchLoss LinkTask::MakeLoss(const NodeData&) const {
  return [loss = training_.task.loss, scorer = scorer_](const BatchTensors& batch, const torch::Tensor& outputs) {
    return LinkLoss(loss, *scorer, outputs, *batch.batch.links, int64_t{batch.batch.global_num_seeds});
  };
}

Result<std::shared_ptr<TaskEvaluation>> LinkTask::MakeEvaluation(const EvaluationContext& context) {
  ASSIGN_OR_RETURN(LinkEvaluationOptions options, MakeLinkEvaluationOptions(training_, context.graph.schema()));
  options.chunk_nodes = context.scoring_chunk;
  options.timeouts = context.inference.timeouts;
  options.before_chunk = context.inference.before_chunk;
  options.phases = context.inference.phases;
  return std::shared_ptr<TaskEvaluation>(
      std::make_shared<LinkEvaluation>(context.graph, context.data, context.collective, std::move(options), scorer_));
}

ResultsPlan LinkTask::PlanResults(const job::DistTraining& job) const {
  ResultsPlan plan{.nodes = RequestOutputsAsEmbeddings(job)};
  if (job::Saves(job, job::OutputKind::kPredictions)) {
    plan.not_written["predictions"] = "link prediction has no predictions for nodes";
  }
  return plan;
}

}  // namespace espalier::trainer
