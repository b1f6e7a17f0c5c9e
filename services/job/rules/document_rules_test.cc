// Tests that generated documents violate and satisfy every rule, and how violations name their fields.
// operator/tests/crd_live_test.cc compares the rules with an API server on the same documents.
#include "services/job/rules/document_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "services/job/testing/parse_example.h"
#include "services/job/testing/rule_cases.h"

namespace espalier::job {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Returns whether only documents that are too large for a generated case violate the rule.
bool IsTooLarge(const Rule& rule) { return rule.message.find("bytes as JSON") != std::string::npos; }

// Made once, because it takes seconds under sanitizers.
const std::vector<RuleCase>& Cases() {
  static const auto* const kCases = new std::vector<RuleCase>(MakeRuleCases());
  return *kCases;
}

TEST(DocumentRulesTest, EveryRuleIsViolatedBySomeDocumentsAndSatisfiedByOthers) {
  const std::vector<RuleCase>& cases = Cases();
  EXPECT_GT(cases.size(), 1000u);
  for (const Rule& rule : DocumentRules()) {
    if (!rule.check || IsTooLarge(rule)) continue;
    const auto violates = [&](const RuleCase& one) {
      return std::any_of(one.violations.begin(), one.violations.end(),
                         [&](const RuleViolation& violation) { return violation.rule == &rule; });
    };
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), violates)) << rule.at << ": " << rule.message;
    EXPECT_FALSE(std::all_of(cases.begin(), cases.end(), violates)) << rule.at << ": " << rule.message;
  }
}

TEST(DocumentRulesTest, BaseDocumentsSatisfyAllRules) {
  size_t bases = 0;
  for (const RuleCase& one : Cases()) {
    if (one.name.find(' ') != std::string::npos) continue;
    ++bases;
    for (const RuleViolation& violation : one.violations) {
      ADD_FAILURE() << one.name << ": " << violation.Path() << ": " << violation.Message();
    }
  }
  EXPECT_EQ(bases, 9u);
}

TEST(DocumentRulesTest, RowsAreDistinctAndComplete) {
  std::set<std::string> seen;
  for (const Rule& rule : DocumentRules()) {
    EXPECT_TRUE(seen.insert(rule.at + "." + rule.field + ": " + rule.message).second) << rule.message;
    EXPECT_TRUE(rule.at.starts_with("spec")) << rule.at;
    EXPECT_FALSE(rule.message.empty()) << rule.at;
    EXPECT_TRUE(rule.check || !rule.cel.empty()) << rule.message;
    EXPECT_FALSE(rule.on_cluster_only && rule.cel.empty()) << rule.message;
  }
}

TEST(DocumentRulesTest, ParserNamesListItemsWhereSchemaNamesList) {
  const std::string error = ErrorOf(
      ExampleWith("- features: [node-feat]", "- {nodeType: a, features: [x]}\n    - {nodeType: a, features: [x]}"));
  EXPECT_EQ(error, "job.yaml:17:7: spec.training.inputs[1]: duplicate entry for a node type: 'a'");
}

TEST(DocumentRulesTest, ClusterRulesApplyOnlyOnClusters) {
  const Overrides none = {{"output.uri", ""}, {"servers.plugins", "[{name: a, path: a.so}]"}};
  EXPECT_TRUE(ParseJob("job.yaml", kExampleJob, none, ReadBy::kRunOrRole).ok());
  EXPECT_THAT(
      ParseJob("", kExampleJob, none, ReadBy::kOperator).status().message(),
      AllOf(HasSubstr("spec.output.uri: is missing: on a cluster, checkpoints and results are written there"),
            HasSubstr("spec.servers.plugins[0].path: a relative path is not supported on a cluster: expected the "
                      "absolute path of a file of the servers' image")));
}

TEST(DocumentRulesTest, OnlyProgramsHaveSeveralGpus) {
  EXPECT_EQ(ParseJob("", kExampleJob, {}, ReadBy::kOperator)->training.trainer_gpus, 0u);
  const Result<ParsedJob> one = ParseJob("", kExampleJob, {{"trainers.gpus", "1"}}, ReadBy::kOperator);
  ASSERT_TRUE(one.ok()) << one.status().ToString();
  EXPECT_EQ(one->training.trainer_gpus, 1u);
  const Overrides two = {{"trainers.gpus", "2"}};
  EXPECT_THAT(ParseJob("", kExampleJob, two, ReadBy::kOperator).status().message(),
              HasSubstr("spec.trainers.gpus: a built-in trainer uses at most one GPU: expected 0 or 1; for more GPUs "
                        "raise spec.trainers.replicas; found 2"));
  EXPECT_TRUE(ParseJob("", kExampleJob, two, ReadBy::kRunOrRole).ok());
  const Overrides of_program = {{"trainers.gpus", "8"}, {"trainers.program", "{command: [my-program]}"}};
  EXPECT_TRUE(ParseJob("", kExampleJob, of_program, ReadBy::kOperator).ok());
  EXPECT_THAT(ErrorOf(kExampleJob, {{"trainers.gpus", "-1"}}),
              HasSubstr("spec.trainers.gpus: expected an integer from 0 to 64, found '-1'"));
}

TEST(DocumentRulesTest, OnlyTrainersWithAGpuKeepRowsOnIt) {
  const auto with_device = [](const std::string& device) {
    return Overrides{{"trainers.featureCache", "{memory: 2Gi, deviceMemory: 4Gi}"}, {"trainers.device", device}};
  };
  for (const char* device : {"Auto", "CUDA"}) {
    const Result<ParsedJob> parsed = ParseJob("job.yaml", kExampleJob, with_device(device));
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(parsed->training.feature_cache->device_memory_bytes, uint64_t{4} << 30);
  }
  EXPECT_THAT(ErrorOf(kExampleJob, with_device("CPU")),
              HasSubstr("spec.trainers.featureCache.deviceMemory: holds rows on a GPU: set spec.trainers.device to "
                        "CUDA or Auto"));
  const Result<ParsedJob> none = ParseJob("job.yaml", kExampleJob, {{"trainers.featureCache", "{memory: 2Gi}"}});
  ASSERT_TRUE(none.ok()) << none.status().ToString();
  EXPECT_EQ(none->training.feature_cache->device_memory_bytes, 0u);
}

}  // namespace
}  // namespace espalier::job
