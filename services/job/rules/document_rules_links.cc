// Rules of LinkPrediction. The defaults of its fields are not in the schema, so the CEL expressions check whether the
// fields are present.
#include "services/job/rules/rule_check.h"

namespace espalier::job {
namespace {

// A CEL expression at spec: the number of negatives in one trainer's share of a step.
constexpr char kShare[] =
    "(self.training.batchSize + self.trainers.replicas - 1) / self.trainers.replicas * "
    "(has(self.training.task.negatives) && has(self.training.task.negatives.count) ? "
    "self.training.task.negatives.count : 1)";

// Returns a CEL expression at spec.training that is true if `cel` is true or if the type of the negatives is not
// `type`. COUNT in `cel` is replaced by the number of negatives per edge.
std::string IfNegatives(const std::string& type, std::string cel) {
  const std::string count = "(has(self.task.negatives.count) ? self.task.negatives.count : 1)";
  cel.replace(cel.find("COUNT"), 5, count);
  return "!has(self.task.negatives) || !has(self.task.negatives.type) || self.task.negatives.type != '" + type +
         "' || " + cel;
}

bool IsLinkPrediction(const DistTraining& job) {
  return job.has_training && job.training.task.type == TaskType::kLinkPrediction;
}

std::vector<Rule> LinkFieldRules() {
  const std::string training = "spec.training";
  return {
      {training, "!has(self.task.edgeTypes) || !has(self.task.edgeType)",
       "edgeType names one edge type, edgeTypes several: omit one of them", "task.edgeTypes",
       Holds([](const Training& self) { return self.task.edge_types.empty() || self.task.edge_type.empty(); })},
      {training, "!has(self.task.edgeTypes) || !has(self.task.reverseEdgeType)", "needs edgeType instead of edgeTypes",
       "task.reverseEdgeType",
       Holds([](const Training& self) { return self.task.edge_types.empty() || self.task.reverse_edge_type.empty(); })},
      {training, "!has(self.evaluation.k) || (has(self.evaluation.metric) && self.evaluation.metric == 'HitsAtK')",
       "only for the metric HitsAtK", "evaluation.k", Holds([](const Training& self, const RuleFields& fields) {
         return !HasField(fields, "evaluation.k") || self.evaluation.metric == Metric::kHitsAtK;
       })},
      {training,
       "self.task.type != 'LinkPrediction' || !has(self.evaluation.metric) || self.evaluation.metric != 'ROCAUC' || "
       "(has(self.evaluation.candidates) && self.evaluation.candidates > 0)",
       "ROCAUC needs at least 1 negative per edge", "evaluation.candidates", Holds([](const Training& self) {
         return self.task.type != TaskType::kLinkPrediction || self.evaluation.metric != Metric::kRocAuc ||
                self.evaluation.candidates > 0;
       })},
      {training,
       "!has(self.task.scorer) || !(self.task.scorer in ['ComplEx', 'RotatE']) || self.model.hiddenSize % 2 == 0",
       "ComplEx and RotatE use complex numbers and need an even size", "model.hiddenSize",
       Holds(
           [](const Training& self) {
             return (self.task.scorer != Scorer::kComplEx && self.task.scorer != Scorer::kRotatE) ||
                    self.model.hidden_size % 2 == 0;
           },
           [](const Training& self) { return ", found " + std::to_string(self.model.hidden_size); })},
  };
}

std::vector<Rule> NegativeRules() {
  const std::string share = kShare;
  const std::string training = "spec.training";
  const std::string is_other_task_or = "self.training.task.type != 'LinkPrediction' || ";
  const std::string max_in_degree_negatives = std::to_string(kMaxInDegreeNegatives);
  const std::string max_sampler_negatives = std::to_string(kMaxNegativesOfSampler);
  return {
      {training, IfNegatives("InBatch", "COUNT < self.batchSize"),
       "InBatch uses the other edges of the batch: expected a number below batchSize", "task.negatives.count",
       Holds(
           [](const Training& self) {
             return self.task.negatives != sampler::NegativeKind::kInBatch || self.task.num_negatives < self.batch_size;
           },
           [](const Training& self) { return " (" + std::to_string(self.batch_size) + ")"; })},
      {training, IfNegatives("InDegree", "self.batchSize * COUNT <= " + max_in_degree_negatives),
       "with InDegree, each trainer fetches the negatives of all trainers for a step: "
       "lower count or batchSize, so that batchSize times count is at most " +
           max_in_degree_negatives,
       "task.negatives.count",
       Holds(
           [](const Training& self) {
             return self.task.negatives != sampler::NegativeKind::kInDegree ||
                    self.batch_size * self.task.num_negatives <= kMaxInDegreeNegatives;
           },
           [](const Training& self) {
             return "; found " + std::to_string(self.batch_size * self.task.num_negatives);
           })},
      {"spec",
       IfTraining(is_other_task_or + "self.samplers.replicas == 0 || " + share + " <= " + max_sampler_negatives),
       "a sampler draws at most " + max_sampler_negatives +
           " negatives for one trainer's step: use fewer, a smaller batchSize, more trainers, or no samplers",
       "training.task.negatives.count", Holds([](const DistTraining& self) {
         return !IsLinkPrediction(self) || self.sampler_replicas == 0 ||
                NegativesOfShare(self.training, self.trainer_replicas) <= kMaxNegativesOfSampler;
       })},
      {"spec",
       IfTraining(is_other_task_or + "(" + share + " <= " + std::to_string(kMaxNegativesOfTrainer) +
                  " && ((has(self.training.task.negatives) && has(self.training.task.negatives.type) && "
                  "self.training.task.negatives.type == 'Joint') || " +
                  share + " * self.training.model.hiddenSize <= " + std::to_string(kMaxNegativeValuesOfTrainer) + "))"),
       "a trainer's share of a step has at most " + std::to_string(kMaxNegativesOfTrainer) +
           " negatives, whose embeddings have at most " + std::to_string(kMaxNegativeValuesOfTrainer) +
           " values unless the type is Joint: use fewer, a smaller batchSize, more trainers, or Joint, which shares "
           "them",
       "training.task.negatives.count",
       Holds(
           [](const DistTraining& self) {
             const Training& spec = self.training;
             return !IsLinkPrediction(self) || NegativesOfShare(spec, self.trainer_replicas) <=
                                                   MaxNegativesOfShare(spec.task.negatives, spec.model.hidden_size);
           },
           [](const DistTraining& self) {
             const Training& spec = self.training;
             return "; a trainer's share has " + std::to_string(NegativesOfShare(spec, self.trainer_replicas)) +
                    " negatives, expected at most " +
                    std::to_string(MaxNegativesOfShare(spec.task.negatives, spec.model.hidden_size));
           })},
  };
}

}  // namespace

std::vector<Rule> LinkRules() {
  std::vector<Rule> rules = LinkFieldRules();
  for (Rule& rule : NegativeRules()) rules.push_back(std::move(rule));
  return rules;
}

}  // namespace espalier::job
