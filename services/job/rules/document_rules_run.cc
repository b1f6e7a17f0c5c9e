// Rules of spec.checkpoint, spec.output, spec.tls, spec.runPolicy and of roles. Fields that struct DistTraining lacks
// are read from the document's JSON (RuleFields).
#include "services/job/rules/rule_check.h"

namespace espalier::job {
namespace {

// Returns whether the name has the syntax of spec.managedBy of a Kubernetes Job, such as "kueue.x-k8s.io/multikueue".
bool IsControllerName(const std::string& name) {
  const size_t slash = name.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == name.size()) return false;
  constexpr std::string_view kDomain = "abcdefghijklmnopqrstuvwxyz0123456789.-";
  constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  const auto is_end = [](char c) { return c != '.' && c != '-'; };
  return name.find_first_not_of(kDomain) == slash && is_end(name.front()) && is_end(name[slash - 1]) &&
         name.find_first_not_of(kName, slash + 1) == std::string::npos;
}

std::vector<Rule> ResumeRules() {
  return {
      {"spec",
       IfTraining("!has(self.checkpoint.resumeFrom) || !has(self.training.model.uri) || self.training.model.type == "
                  "'TorchScript'"),
       "a checkpoint contains the model: omit spec.training.model.uri", "checkpoint.resumeFrom",
       Holds([](const DistTraining& self) {
         const Model& model = self.training.model;
         return !self.has_training || self.checkpoint.resume_from.empty() || model.uri.empty() ||
                model.type == ModelType::kTorchScript;
       })},
      {"spec",
       IfTraining("!has(self.checkpoint.resumeFrom) || self.training.model.type != 'TorchScript' || "
                  "self.training.epochs > 0"),
       "with 0 epochs, the run uses the parameters in the TorchScript module's file: omit spec.checkpoint.resumeFrom",
       "checkpoint.resumeFrom", Holds([](const DistTraining& self) {
         return !self.has_training || self.checkpoint.resume_from.empty() ||
                self.training.model.type != ModelType::kTorchScript || self.training.epochs > 0;
       })},
  };
}

std::string DescribeReplicas(const RuleFields& trainers) {
  return " (" + std::to_string(trainers.value("replicas", int64_t{1})) + ")";
}

std::vector<Rule> RoleRules() {
  std::vector<Rule> rules = {
      {"spec.trainers", "!has(self.minReplicas) || self.minReplicas <= self.replicas",
       "is above spec.trainers.replicas", "minReplicas",
       Holds(
           [](const RuleFields& self) {
             return self.value("minReplicas", int64_t{1}) <= self.value("replicas", int64_t{1});
           },
           DescribeReplicas)},
      {"spec.trainers", "!has(self.maxReplicas) || self.maxReplicas >= self.replicas",
       "is below spec.trainers.replicas", "maxReplicas",
       Holds(
           [](const RuleFields& self) {
             const int64_t replicas = self.value("replicas", int64_t{1});
             return self.value("maxReplicas", replicas) >= replicas;
           },
           DescribeReplicas)},
      {.at = "spec.trainers",
       .cel = "self.replicas % self.containersPerPod == 0",
       .message = "every pod has the same number of trainers: expected a divisor of spec.trainers.replicas",
       .field = "containersPerPod",
       .check = Holds(
           [](const RuleFields& self) {
             return self.value("replicas", int64_t{1}) % self.value("containersPerPod", int64_t{1}) == 0;
           },
           DescribeReplicas),
       .on_cluster_only = true},
      {.at = "spec.trainers",
       .cel = "!has(self.minReplicas) || self.minReplicas % self.containersPerPod == 0",
       .message = "every pod has the same number of trainers: expected a multiple of spec.trainers.containersPerPod",
       .field = "minReplicas",
       .check = Holds(
           [](const RuleFields& self) {
             const int64_t per_pod = self.value("containersPerPod", int64_t{1});
             return self.value("minReplicas", per_pod) % per_pod == 0;
           },
           [](const RuleFields& self) {
             return " (" + std::to_string(self.value("containersPerPod", int64_t{1})) + ")";
           }),
       .on_cluster_only = true},
  };
  for (const char* role : {"partitioner", "servers", "samplers", "trainers"}) {
    rules.push_back({std::string("spec.") + role + ".env[]", "!has(self.value) || !has(self.valueFrom)",
                     "has both value and valueFrom", "", Holds([](const RuleFields& self) {
                       return !HasField(self, "value") || !HasField(self, "valueFrom");
                     })});
  }
  return rules;
}

}  // namespace

std::vector<Rule> RunRules() {
  std::vector<Rule> rules = {
      {.at = "spec",
       .cel = "has(self.output.uri)",
       .message = "on a cluster, checkpoints and results are written there",
       .field = "output.uri",
       .check = Holds([](const DistTraining& self) { return !self.output_uri.empty(); }),
       .is_required = true,
       .on_cluster_only = true},
      {"spec.tls", "!has(self.mode) || self.mode != 'SecretRef' || has(self.secretName)",
       "SecretRef needs spec.tls.secretName", "mode",
       Holds([](const DistTraining& self) { return self.tls != TlsMode::kSecretRef || !self.tls_secret.empty(); })},
      {"spec.tls", "!has(self.secretName) || (has(self.mode) && self.mode == 'SecretRef')",
       "only for the mode SecretRef", "secretName",
       Holds([](const DistTraining& self) { return self.tls_secret.empty() || self.tls == TlsMode::kSecretRef; })},
      {.at = "spec.runPolicy.managedBy",
       .cel = R"(self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?/[A-Za-z0-9._-]+$'))",
       .message = "expected a controller's name, domain/name",
       .check = Holds([](const RuleFields& self) { return IsControllerName(self.get<std::string>()); }),
       .on_cluster_only = true},
      {"spec",
       "!has(self.trainers.featureCache) || !has(self.trainers.featureCache.deviceMemory) || self.trainers.device != "
       "'CPU'",
       "holds rows on a GPU: set spec.trainers.device to CUDA or Auto", "trainers.featureCache.deviceMemory",
       Holds([](const DistTraining& self) {
         return !self.feature_cache.has_value() || self.feature_cache->device_memory_bytes == 0 ||
                self.trainer_device != Device::kCpu;
       })},
  };
  for (const std::vector<Rule>& part : {ResumeRules(), RoleRules()})
    rules.insert(rules.end(), part.begin(), part.end());
  return rules;
}

}  // namespace espalier::job
