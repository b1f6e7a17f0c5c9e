#include "services/trainer/link_task.h"

#include "services/job/enum_names.h"
#include "services/job/sampling/link_plan.h"
#include "services/sampler/seeds/seed_order.h"
#include "services/trainer/model/link_loss.h"

namespace espalier::trainer {

Result<uint64_t> CountTrainingEdges(const job::Training& training, const GraphAccess& graph) {
  ASSIGN_OR_RETURN(const std::vector<EdgeTypeId> types, job::FindEdgeTypes(training.task, graph.schema()));
  ASSIGN_OR_RETURN(const std::vector<uint64_t> first,
                   sampler::FirstOrdinals(graph.seeds, types, training.task.split, graph::SplitPartName::kTrain));
  return first.back();
}

Result<std::shared_ptr<LinkScorer>> MakeScorer(const job::Training& training, const graph::GraphSchema& schema,
                                               int64_t width) {
  const job::Model& model = training.model;
  if (model.type != job::ModelType::kTorchScript && width != model.hidden_size) {
    return InvalidArgument("spec.training.model.uri: the model has " + std::to_string(width) +
                           " outputs, but embeddings have spec.training.model.hiddenSize (" +
                           std::to_string(model.hidden_size) + ") numbers");
  }
  const job::Scorer scorer = training.task.scorer;
  const bool is_complex = scorer == job::Scorer::kComplEx || scorer == job::Scorer::kRotatE;
  if (is_complex && width % 2 != 0) {
    return InvalidArgument("spec.training.model.uri: the model's embeddings have " + std::to_string(width) +
                           " numbers, and " + job::ToString(scorer) + " needs an even width: its numbers are complex");
  }
  ASSIGN_OR_RETURN(const std::vector<EdgeTypeId> types, job::FindEdgeTypes(training.task, schema));
  return std::make_shared<LinkScorer>(scorer, static_cast<int64_t>(types.size()), width, training.seed);
}

Result<std::vector<std::string>> ListScorerRelations(const job::Training& training, const graph::GraphSchema& schema) {
  if (training.task.scorer == job::Scorer::kDot) return std::vector<std::string>();
  return job::CanonicalNamesOfEdgeTypes(training.task, schema);
}

Status CheckNegatives(const job::Training& training, int64_t width, uint32_t num_trainers) {
  const int64_t negatives = job::NegativesOfShare(training, num_trainers);
  const int64_t most = job::MostNegativesOfShare(training.task.negatives, width);
  if (negatives <= most) return Status();
  return InvalidArgument(
      "spec.training.task.negatives.count: more embeddings of a step's negatives than fit a trainer: " +
      std::to_string(negatives) + " of at most " + std::to_string(most));
}

BatchLoss LossOfBatches(const job::Training& training, LossKind kind, std::shared_ptr<const LinkScorer> scorer) {
  if (!PredictsLinks(training)) {
    return [kind](const BatchTensors& batch, const torch::Tensor& outputs) {
      return Loss(kind, outputs, batch.labels, int64_t{batch.batch.global_num_seeds});
    };
  }
  return [link_loss = training.task.loss, scorer](const BatchTensors& batch, const torch::Tensor& outputs) {
    return LinkLoss(link_loss, *scorer, outputs, *batch.batch.links, int64_t{batch.batch.global_num_seeds});
  };
}

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

}  // namespace espalier::trainer
