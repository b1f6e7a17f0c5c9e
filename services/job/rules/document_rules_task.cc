// Rules of spec.training that concern several tasks or the labels of edges. The defaults of evaluation.metric and
// task.exclude are not in the schema, so the CEL expressions check whether these fields are present.
#include <algorithm>

#include "services/job/enum_names.h"
#include "services/job/rules/rule_check.h"

namespace espalier::job {
namespace {

constexpr char kTrainingPath[] = "spec.training";
constexpr char kIsNodeTaskOr[] = "self.task.type in ['NodeClassification', 'NodeRegression'] || ";
constexpr char kIsLabeledEdgeTaskOr[] = "self.task.type in ['EdgeClassification', 'EdgeRegression'] || ";
constexpr char kIsNoLabeledEdgeTaskOr[] = "!(self.task.type in ['EdgeClassification', 'EdgeRegression']) || ";

bool IsRegression(TaskType type) { return type == TaskType::kNodeRegression || type == TaskType::kEdgeRegression; }
bool IsClassification(TaskType type) {
  return type == TaskType::kNodeClassification || type == TaskType::kEdgeClassification;
}

// Returns the rule that the metric of some tasks is one of `metrics`. `cel` and `is_task` are true for these tasks;
// `tasks` is their name in the message.
Rule MetricRule(const std::string& cel, bool (*is_task)(TaskType), const std::string& tasks,
                std::vector<Metric> metrics) {
  std::string choices, list;
  for (const Metric metric : metrics) {
    choices += (choices.empty() ? "" : " | ") + std::string(ToString(metric));
    list += std::string(list.empty() ? "'" : ", '") + ToString(metric) + "'";
  }
  return {kTrainingPath, "!(" + cel + ") || !has(self.evaluation.metric) || self.evaluation.metric in [" + list + "]",
          "expected " + choices + " for " + tasks, "evaluation.metric",
          Holds(
              [is_task, metrics](const Training& self) {
                return !is_task(self.task.type) ||
                       std::find(metrics.begin(), metrics.end(), self.evaluation.metric) != metrics.end();
              },
              [](const Training& self) { return std::string(", found ") + ToString(self.evaluation.metric); })};
}

std::vector<Rule> MetricRules() {
  return {
      MetricRule("self.task.type in ['NodeRegression', 'EdgeRegression']", IsRegression, "regressions",
                 {Metric::kMeanSquaredError, Metric::kMeanAbsoluteError}),
      MetricRule("self.task.type in ['NodeClassification', 'EdgeClassification']", IsClassification, "classifications",
                 {Metric::kAccuracy, Metric::kMacroF1, Metric::kMicroF1, Metric::kRocAuc}),
      MetricRule("self.task.type == 'LinkPrediction'", [](TaskType type) { return type == TaskType::kLinkPrediction; },
                 "LinkPrediction", {Metric::kMrr, Metric::kHitsAtK, Metric::kRocAuc})};
}

// Returns the rules of fields that only tasks on edges, or only LinkPrediction, may have.
std::vector<Rule> EdgeFieldRules() {
  std::vector<Rule> rules;
  for (const char* field : {"task.edgeType", "task.reverseEdgeType"}) {
    rules.push_back(
        {kTrainingPath,
         std::string("!(self.task.type in ['NodeClassification', 'NodeRegression']) || !has(self.") + field + ")",
         "only for tasks on edges", field, Holds([field](const Training& self, const RuleFields& fields) {
           return HasEdgeSeeds(self.task.type) || !HasField(fields, field);
         })});
  }
  for (const char* field : {"task.edgeTypes", "task.negatives", "task.scorer", "task.loss", "evaluation.candidates",
                            "evaluation.filtered", "evaluation.k"}) {
    rules.push_back({kTrainingPath, std::string("self.task.type == 'LinkPrediction' || !has(self.") + field + ")",
                     "only for LinkPrediction", field, Holds([field](const Training& self, const RuleFields& fields) {
                       return self.task.type == TaskType::kLinkPrediction || !HasField(fields, field);
                     })});
  }
  return rules;
}

std::vector<Rule> EdgeTaskRules() {
  const std::string is_node_task_or = kIsNodeTaskOr, is_labeled_edge_task_or = kIsLabeledEdgeTaskOr;
  const std::string is_no_labeled_edge_task_or = kIsNoLabeledEdgeTaskOr;
  return {
      {kTrainingPath, "self.task.type in ['NodeClassification', 'EdgeClassification'] || !self.task.multiLabel",
       "only for NodeClassification and EdgeClassification", "task.multiLabel",
       Holds([](const Training& self) { return IsClassification(self.task.type) || !self.task.multi_label; })},
      {kTrainingPath, is_node_task_or + "!has(self.task.nodeType)", "only for tasks on nodes: name edgeType instead",
       "task.nodeType",
       Holds([](const Training& self) { return !HasEdgeSeeds(self.task.type) || self.task.node_type.empty(); })},
      {kTrainingPath, is_node_task_or + "self.evaluation.neighborhood == 'Full'",
       "tasks on edges are evaluated over full neighborhoods: choose Full", "evaluation.neighborhood",
       Holds([](const Training& self) {
         return !HasEdgeSeeds(self.task.type) || self.evaluation.neighborhood == EvaluationNeighborhood::kFull;
       })},
      {kTrainingPath, is_node_task_or + "!has(self.sampling.seedTime)", "only for tasks on nodes: omit it",
       "sampling.seedTime",
       Holds([](const Training& self) { return !HasEdgeSeeds(self.task.type) || self.sampling.seed_time.empty(); })},
      {kTrainingPath, is_labeled_edge_task_or + "!has(self.task.exclude)",
       "only for EdgeClassification and EdgeRegression", "task.exclude",
       Holds([](const Training& self, const RuleFields& fields) {
         return LabelsEdges(self.task.type) || !HasField(fields, "task.exclude");
       })},
      {kTrainingPath, is_no_labeled_edge_task_or + "self.task.label != 'node-label'",
       "name the edge column with the labels", "task.label",
       Holds([](const Training& self) { return !LabelsEdges(self.task.type) || self.task.label != "node-label"; })},
      {kTrainingPath, is_no_labeled_edge_task_or + "self.epochs > 0 || self.model.type != 'TorchScript'",
       "a TorchScript module does not contain the head for edges, which is trained: set at least 1", "epochs",
       Holds([](const Training& self) {
         return !LabelsEdges(self.task.type) || self.epochs > 0 || self.model.type != ModelType::kTorchScript;
       })},
      {"spec",
       IfTraining("!has(self.training.task.exclude) || self.training.task.exclude != 'ReverseEdges' || "
                  "has(self.training.task.reverseEdgeType) || (has(self.graph.preprocess) && "
                  "has(self.graph.preprocess.addReverseEdges) && self.graph.preprocess.addReverseEdges)"),
       "ReverseEdges needs reverseEdgeType or graph.preprocess.addReverseEdges", "training.task.exclude",
       Holds([](const DistTraining& self) {
         const Task& task = self.training.task;
         return !self.has_training || task.exclude != ExcludeEdges::kReverseEdges || !task.reverse_edge_type.empty() ||
                self.graph.preprocess.add_reverse_edges;
       })},
  };
}

}  // namespace

std::vector<Rule> TaskRules() {
  std::vector<Rule> rules;
  for (const std::vector<Rule>& part : {MetricRules(), EdgeFieldRules(), EdgeTaskRules()}) {
    rules.insert(rules.end(), part.begin(), part.end());
  }
  return rules;
}

}  // namespace espalier::job
