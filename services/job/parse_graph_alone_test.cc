// Documents that say nothing of training: for runs of a user's program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "services/job/parse.h"

namespace espalier::job {
namespace {

using testing::HasSubstr;

constexpr const char* kGraphAlone = R"(apiVersion: espalier.io/v1alpha1
kind: DistTraining
metadata: {name: cora}
spec:
  graph: {source: {uri: /srv/graphs/cora, format: OGB}, partitions: {count: 2}}
  trainers: {replicas: 2}
)";

TEST(ParseJobTest, OnlyThoseWhoNeedTheGraphAloneTakeADocumentWithoutTraining) {
  EXPECT_THAT(ParseJob("job.yaml", kGraphAlone, {}).status().message(), HasSubstr("spec.training: is missing"));
  const auto parsed = ParseJob("job.yaml", kGraphAlone, {}, RunsOn::kLaptop, SpecTraining::kOptional);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_FALSE(parsed->training.has_training);
  EXPECT_EQ(parsed->training.trainer_replicas, 2u);
  EXPECT_FALSE(nlohmann::json::parse(parsed->effective_json)["spec"].contains("training"));
  EXPECT_TRUE(ParseJob("job.json", parsed->effective_json, {}, RunsOn::kLaptop, SpecTraining::kOptional).ok());
  // What is there is looked at all the same.
  const auto wrong =
      ParseJob("job.yaml", kGraphAlone, {{"training.epochs", "3"}}, RunsOn::kLaptop, SpecTraining::kOptional);
  EXPECT_THAT(wrong.status().message(), HasSubstr("spec.training.task: is missing"));
  const auto samplers =
      ParseJob("job.yaml", kGraphAlone, {{"samplers.replicas", "1"}}, RunsOn::kLaptop, SpecTraining::kOptional);
  EXPECT_THAT(samplers.status().message(), HasSubstr("spec.samplers.replicas: sampler processes draw what"));
}

}  // namespace
}  // namespace espalier::job
