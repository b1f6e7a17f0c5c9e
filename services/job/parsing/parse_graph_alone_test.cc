// Documents without spec.training: for partitioners, and for user programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "services/job/parsing/parse.h"

namespace espalier::job {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kGraphAlone = R"(apiVersion: espalier.io/v1alpha1
kind: DistTraining
metadata: {name: cora}
spec:
  graph: {source: {uri: /srv/graphs/cora, format: OGB}, partitions: {count: 2}}
  trainers: {replicas: 2}
)";

TEST(ParseJobTest, TrainingIsOptionalOnlyForGraphCommands) {
  EXPECT_THAT(ParseJob("job.yaml", kGraphAlone, {}).status().message(), HasSubstr("spec.training: is missing"));
  const auto parsed = ParseJob("job.yaml", kGraphAlone, {}, ReadBy::kRunOrRole, SpecTraining::kOptional);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_FALSE(parsed->training.has_training);
  EXPECT_EQ(parsed->training.trainer_replicas, 2u);
  EXPECT_FALSE(nlohmann::json::parse(parsed->effective_json)["spec"].contains("training"));
  EXPECT_TRUE(ParseJob("job.json", parsed->effective_json, {}, ReadBy::kRunOrRole, SpecTraining::kOptional).ok());
  // An optional spec.training is still validated if it is there.
  const auto wrong =
      ParseJob("job.yaml", kGraphAlone, {{"training.epochs", "3"}}, ReadBy::kRunOrRole, SpecTraining::kOptional);
  EXPECT_THAT(wrong.status().message(), HasSubstr("spec.training.task: is missing"));
  const auto samplers =
      ParseJob("job.yaml", kGraphAlone, {{"samplers.replicas", "1"}}, ReadBy::kRunOrRole, SpecTraining::kOptional);
  EXPECT_THAT(samplers.status().message(), HasSubstr("spec.samplers.replicas: sampler processes need"));
}

constexpr const char* kProgram = R"(apiVersion: espalier.io/v1alpha1
kind: DistTraining
metadata: {name: cora}
spec:
  graph: {source: {uri: /srv/graphs/cora, format: OGB}, partitions: {count: 2}}
  trainers: {replicas: 2, program: {command: [my-program, --rate, "0.1"], args: [--rate, --rate, ""]}}
)";

std::string ProgramErrors(const std::vector<std::pair<std::string, std::string>>& overrides) {
  const auto parsed = ParseJob("job.yaml", kProgram, overrides, ReadBy::kRunOrRole, SpecTraining::kUnlessProgram);
  return parsed.ok() ? "" : parsed.status().message();
}

TEST(ParseProgramTest, CommandIsUnchangedAndReplacesTraining) {
  const auto parsed = ParseJob("job.yaml", kProgram, {}, ReadBy::kRunOrRole, SpecTraining::kUnlessProgram);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_FALSE(parsed->training.has_training);
  EXPECT_TRUE(parsed->ignored.empty());
  ASSERT_TRUE(parsed->training.program.has_value());
  EXPECT_THAT(parsed->training.program->command, ElementsAre("my-program", "--rate", "0.1"));
  EXPECT_THAT(parsed->training.program->args, ElementsAre("--rate", "--rate", ""));
  EXPECT_THAT(parsed->training.program->Words(), ElementsAre("my-program", "--rate", "0.1", "--rate", "--rate", ""));
  const auto again = ParseJob("job.json", parsed->effective_json, {}, ReadBy::kRunOrRole, SpecTraining::kUnlessProgram);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->effective_json, parsed->effective_json);
}

TEST(ParseProgramTest, TrainersRequireTraining) {
  EXPECT_THAT(ParseJob("job.yaml", kProgram, {}).status().message(), HasSubstr("spec.training: is missing"));
  const auto without = ParseJob("job.yaml", kGraphAlone, {}, ReadBy::kRunOrRole, SpecTraining::kUnlessProgram);
  EXPECT_THAT(
      without.status().message(),
      AllOf(HasSubstr("spec.training: is missing: expected an object, or a program of yours that trains: name it "
                      "in spec.trainers.program"),
            EndsWith("-- PROGRAM")));
  const auto on_cluster = ParseJob("", kGraphAlone, {}, ReadBy::kOperator, SpecTraining::kUnlessProgram);
  EXPECT_THAT(on_cluster.status().message(), Not(HasSubstr("-- PROGRAM")));
  // With SpecTraining::kRequired, the message does not suggest a program.
  EXPECT_THAT(ParseJob("job.yaml", kGraphAlone, {}).status().message(), Not(HasSubstr("PROGRAM")));
}

TEST(ParseProgramTest, RefusesInvalidCommandLines) {
  EXPECT_THAT(
      ProgramErrors({{"trainers.program", "{args: [x]}"}}),
      HasSubstr("spec.trainers.program.command: is missing: expected the program and its arguments, or a script"));
  EXPECT_THAT(ProgramErrors({{"trainers.program.command", "[]"}}), HasSubstr("1 to 16 items"));
  EXPECT_THAT(ProgramErrors({{"trainers.program.command", "[\"\"]"}}),
              HasSubstr("spec.trainers.program.command[0]: expected the program as the first word"));
  EXPECT_THAT(ProgramErrors({{"trainers.program.args", "[0.1]"}}), HasSubstr("write \"0.1\" in quotes"));
  EXPECT_THAT(ProgramErrors({{"trainers.program.args", R"(["a", "b\0c"])"}}),
              HasSubstr("spec.trainers.program.args[1]: has a NUL byte"));
  EXPECT_THAT(ProgramErrors({{"trainers.program.args", "[" + std::string(4097, 'x') + "]"}}),
              HasSubstr("text of at most 4096 bytes"));
}

// Each word and the list are within their limits; only the total size is not.
TEST(ParseProgramTest, RefusesCommandTooLargeForConfigMap) {
  const auto errors = [](size_t count, const std::string& word) {
    std::string args;
    for (size_t i = 0; i < count; ++i) args += (i == 0 ? "[" : ", ") + word;
    return ProgramErrors({{"trainers.program.args", args + "]"}});
  };
  EXPECT_EQ(errors(127, std::string(4096, 'x')), "");
  const std::string expected =
      "spec.trainers.program: expected at most 524288 bytes as JSON, because pods get the document in a ConfigMap of "
      "at most "
      "1 MiB";
  EXPECT_THAT(errors(128, std::string(4096, 'x')), AllOf(HasSubstr(expected), HasSubstr("; found 52")));
  // The size counts the JSON escapes: each \a takes six bytes.
  std::string bells = "\"";
  for (int i = 0; i < 1000; ++i) bells += "\\a";
  EXPECT_EQ(errors(80, bells + '"'), "");
  EXPECT_THAT(errors(90, bells + '"'), HasSubstr(expected));
}

TEST(ParseProgramTest, RefusesFieldsOfBuiltInTrainer) {
  EXPECT_THAT(ProgramErrors({{"checkpoint.resumeFrom", "s3://results/other"}}),
              HasSubstr("spec.checkpoint.resumeFrom: not supported for programs, which load their own checkpoints"));
  EXPECT_THAT(ProgramErrors({{"output.nodesUri", "s3://results/nodes"}}),
              HasSubstr("spec.output.nodesUri: not supported for programs, which write their own outputs"));
  EXPECT_THAT(ProgramErrors({{"samplers.replicas", "1"}}), HasSubstr("spec.samplers.replicas: sampler processes need"));
}

}  // namespace
}  // namespace espalier::job
