#include "services/job/checks/learning_checks.h"

#include <algorithm>
#include <set>
#include <string>

namespace espalier::job {
namespace {

void CheckSparseOptimizer(const SparseOptimizer& optimizer, const std::string& path, PlacedViolations* violations) {
  const bool accumulates =
      optimizer.type == SparseOptimizerType::kAdagrad || optimizer.type == SparseOptimizerType::kRowWiseAdagrad;
  if (!accumulates && optimizer.initial_accumulator > 0) {
    violations->Add(path + ".initialAccumulator", "only for Adagrad and RowWiseAdagrad");
  }
}

void CheckDistribution(const RowInitializer& initializer, const std::string& path, PlacedViolations* violations) {
  const RowInitializer defaults;
  if (initializer.low > initializer.high) violations->Add(path + ".low", "is above " + path + ".high");
  if (initializer.type != RowInitializerType::kUniform) {
    const char* const message = "only for the type Uniform";
    if (initializer.low != defaults.low) violations->Add(path + ".low", message);
    if (initializer.high != defaults.high) violations->Add(path + ".high", message);
  }
  if (initializer.type != RowInitializerType::kNormal) {
    const char* const message = "only for the type Normal";
    if (initializer.mean != defaults.mean) violations->Add(path + ".mean", message);
    if (initializer.deviation != defaults.deviation) violations->Add(path + ".deviation", message);
  }
}

void CheckPlugin(const RowInitializer& initializer, const std::vector<ServerPlugin>& plugins, const std::string& path,
                 PlacedViolations* violations) {
  const std::string& entry = initializer.plugin;
  if (initializer.type != RowInitializerType::kPlugin) {
    if (!entry.empty()) violations->Add(path + ".plugin", "only for the type Plugin");
    if (!initializer.arguments.empty()) violations->Add(path + ".arguments", "only for the type Plugin");
  } else if (entry.empty()) {
    violations->Add(path + ".type", "Plugin needs " + path + ".plugin");
  } else if (std::none_of(plugins.begin(), plugins.end(),
                          [&](const ServerPlugin& plugin) { return entry.starts_with(plugin.name + "/"); })) {
    violations->Add(path + ".plugin",
                    "'" + entry.substr(0, entry.find('/')) + "' is no plugin of spec.servers.plugins");
  }
}

void CheckSchedule(const LearningRateSchedule& schedule, const std::string& path, PlacedViolations* violations) {
  const LearningRateSchedule defaults;
  if (schedule.type == ScheduleType::kStep) return;
  if (schedule.step_epochs != defaults.step_epochs) violations->Add(path + ".stepEpochs", "only for the type Step");
  if (schedule.factor != defaults.factor) violations->Add(path + ".factor", "only for the type Step");
}

void CheckInputs(const std::vector<Input>& inputs, const std::vector<ServerPlugin>& plugins,
                 PlacedViolations* violations) {
  std::set<std::string> seen;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string path = "spec.training.inputs[" + std::to_string(i) + "]";
    if (!seen.insert(inputs[i].node_type).second) {
      violations->Add(
          path, "a second entry for " +
                    (inputs[i].node_type.empty() ? "an unnamed node type" : "node type '" + inputs[i].node_type + "'"));
    }
    if (inputs[i].node_type.empty() && inputs.size() > 1) {
      violations->Add(path, "nodeType may be left out only when there is one entry");
    }
    if (inputs[i].features.empty() && !inputs[i].embedding.has_value()) {
      violations->Add(path, "expected features, embedding or both");
    }
    if (!inputs[i].embedding.has_value()) continue;
    const Embedding& embedding = *inputs[i].embedding;
    CheckSparseOptimizer(embedding.optimizer, path + ".embedding.optimizer", violations);
    CheckDistribution(embedding.initializer, path + ".embedding.initializer", violations);
    CheckPlugin(embedding.initializer, plugins, path + ".embedding.initializer", violations);
    CheckSchedule(embedding.schedule, path + ".embedding.learningRateSchedule", violations);
  }
}

}  // namespace

void CheckLearning(const Training& training, const std::vector<ServerPlugin>& plugins, PlacedViolations* violations) {
  CheckInputs(training.inputs, plugins, violations);
  if (training.optimizer.type != OptimizerType::kSgd && training.optimizer.momentum > 0) {
    violations->Add("spec.training.optimizer.momentum", "only for SGD");
  }
  CheckSchedule(training.schedule, "spec.training.learningRateSchedule", violations);
}

}  // namespace espalier::job
