// Rules of spec.training.inputs, learnable rows and learning-rate schedules. A field of an optimizer, schedule or
// initializer that the chosen type does not use must have its default.
#include <algorithm>

#include "services/job/rules/rule_check.h"

namespace espalier::job {
namespace {

// Returns a finding for each input with the same node type as an earlier input. Ignores inputs without a node type.
std::vector<RuleFinding> FindRepeatedNodeTypes(const Training& training) {
  std::vector<RuleFinding> findings;
  const std::vector<Input>& inputs = training.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = inputs[i].node_type;
    const auto has_name = [&](const Input& other) { return other.node_type == name; };
    if (name.empty() || std::none_of(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(i), has_name))
      continue;
    findings.push_back({"inputs[" + std::to_string(i) + "]", ": '" + name + "'"});
  }
  return findings;
}

std::vector<RuleFinding> FindUnnamedNodeTypes(const Training& training) {
  std::vector<RuleFinding> findings;
  for (size_t i = 0; training.inputs.size() > 1 && i < training.inputs.size(); ++i) {
    if (training.inputs[i].node_type.empty()) findings.push_back({.field = "inputs[" + std::to_string(i) + "]"});
  }
  return findings;
}

std::vector<RuleFinding> FindUnknownPlugins(const DistTraining& job) {
  std::vector<RuleFinding> findings;
  RuleTarget<Embedding>::VisitAll(job, [&](const Embedding& embedding, const std::string& path) {
    const std::string& entry = embedding.initializer.plugin;
    if (entry.empty() || std::any_of(job.server_plugins.begin(), job.server_plugins.end(),
                                     [&](const ServerPlugin& one) { return entry.starts_with(one.name + "/"); })) {
      return;
    }
    findings.push_back({path.substr(sizeof("spec.") - 1) + ".initializer.plugin", ", found '" + entry + "'"});
  });
  return findings;
}

std::vector<Rule> NodeTypeRules() {
  return {
      {"spec.training", "size(self.inputs) == 1 || self.inputs.all(input, has(input.nodeType))",
       "nodeType may be omitted only if there is one entry", "inputs",
       Finds([](const Training& self) { return FindUnnamedNodeTypes(self); })},
      {"spec.training",
       "self.inputs.all(one, !has(one.nodeType) || self.inputs.exists_one(other, has(other.nodeType) && "
       "other.nodeType == one.nodeType))",
       "duplicate entry for a node type", "inputs",
       Finds([](const Training& self) { return FindRepeatedNodeTypes(self); })},
      {.at = "spec.training.inputs[]",
       .cel = "has(self.features) || has(self.embedding)",
       .message = "expected features, embedding or both",
       .check = Holds([](const Input& self) { return !self.features.empty() || self.embedding.has_value(); }),
       .is_required = true},
      {"spec",
       IfTraining("self.training.inputs.all(input, !has(input.embedding) || !has(input.embedding.initializer.plugin) "
                  "|| (has(self.servers.plugins) && self.servers.plugins.exists(plugin, "
                  "input.embedding.initializer.plugin.startsWith(plugin.name + '/'))))"),
       "expected an initializer of a plugin of spec.servers.plugins", "training.inputs",
       Finds([](const DistTraining& self) { return FindUnknownPlugins(self); })},
  };
}

// Returns the rule that a field of the initializer has its default unless the initializer's type is `type`. `cel` is
// true if the field has its default.
Rule InitializerRule(const std::string& type, const std::string& field, const std::string& cel, RuleCheck check) {
  return {"spec.training.inputs[].embedding", "self.initializer.type == '" + type + "' || " + cel,
          "only for the type " + type, "initializer." + field, std::move(check)};
}

std::vector<Rule> InitializerRules() {
  const std::string embedding = "spec.training.inputs[].embedding";
  return {
      {embedding, "self.initializer.low <= self.initializer.high", "is above initializer.high", "initializer.low",
       Holds([](const Embedding& self) { return self.initializer.low <= self.initializer.high; })},
      InitializerRule("Uniform", "low", "self.initializer.low == -1.0", Holds([](const Embedding& self) {
                        const RowInitializer& initializer = self.initializer;
                        return initializer.type == RowInitializerType::kUniform ||
                               initializer.low == RowInitializer().low;
                      })),
      InitializerRule("Uniform", "high", "self.initializer.high == 1.0", Holds([](const Embedding& self) {
                        const RowInitializer& initializer = self.initializer;
                        return initializer.type == RowInitializerType::kUniform ||
                               initializer.high == RowInitializer().high;
                      })),
      InitializerRule("Normal", "mean", "self.initializer.mean == 0.0", Holds([](const Embedding& self) {
                        const RowInitializer& initializer = self.initializer;
                        return initializer.type == RowInitializerType::kNormal ||
                               initializer.mean == RowInitializer().mean;
                      })),
      InitializerRule("Normal", "deviation", "self.initializer.deviation == 1.0", Holds([](const Embedding& self) {
                        const RowInitializer& initializer = self.initializer;
                        return initializer.type == RowInitializerType::kNormal ||
                               initializer.deviation == RowInitializer().deviation;
                      })),
      {embedding, "self.initializer.type != 'Plugin' || has(self.initializer.plugin)",
       "Plugin needs initializer.plugin", "initializer.type", Holds([](const Embedding& self) {
         return self.initializer.type != RowInitializerType::kPlugin || !self.initializer.plugin.empty();
       })},
      InitializerRule("Plugin", "plugin", "!has(self.initializer.plugin)", Holds([](const Embedding& self) {
                        return self.initializer.type == RowInitializerType::kPlugin || self.initializer.plugin.empty();
                      })),
      InitializerRule("Plugin", "arguments", "!has(self.initializer.arguments) || self.initializer.arguments == ''",
                      Holds([](const Embedding& self) {
                        return self.initializer.type == RowInitializerType::kPlugin ||
                               self.initializer.arguments.empty();
                      })),
  };
}

// Returns the rules of the schedule's fields that only the type Step uses. `Self` has the schedule: Training or
// Embedding.
template <class Self>
std::vector<Rule> ScheduleRules() {
  const std::string at = std::string(RuleTarget<Self>::kPath) + ".learningRateSchedule";
  return {
      {at, "self.type == 'Step' || self.stepEpochs == 10", "only for the type Step", "stepEpochs",
       Holds([](const Self& self) {
         return self.schedule.type == ScheduleType::kStep ||
                self.schedule.step_epochs == LearningRateSchedule().step_epochs;
       })},
      {at, "self.type == 'Step' || self.factor == 0.1", "only for the type Step", "factor", Holds([](const Self& self) {
         return self.schedule.type == ScheduleType::kStep || self.schedule.factor == LearningRateSchedule().factor;
       })},
  };
}

}  // namespace

std::vector<Rule> InputRules() {
  std::vector<Rule> rules = {
      {"spec.training.inputs[].embedding",
       "self.optimizer.type in ['Adagrad', 'RowWiseAdagrad'] || self.optimizer.initialAccumulator == 0.0",
       "only for Adagrad and RowWiseAdagrad", "optimizer.initialAccumulator", Holds([](const Embedding& self) {
         return self.optimizer.type == SparseOptimizerType::kAdagrad ||
                self.optimizer.type == SparseOptimizerType::kRowWiseAdagrad || self.optimizer.initial_accumulator == 0;
       })}};
  for (const std::vector<Rule>& part :
       {NodeTypeRules(), InitializerRules(), ScheduleRules<Embedding>(), ScheduleRules<Training>()}) {
    rules.insert(rules.end(), part.begin(), part.end());
  }
  return rules;
}

}  // namespace espalier::job
