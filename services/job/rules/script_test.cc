// Checks of spec.trainers.program.script: a file that the program runs, or an archive that contains it.
#include "services/job/rules/script_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/job/parsing/parse.h"

namespace espalier::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kWithScript = R"(apiVersion: espalier.io/v1alpha1
kind: DistTraining
metadata: {name: cora}
spec:
  graph: {source: {uri: s3://graphs/cora, format: OGB}}
  trainers: {program: {script: {uri: S3A://code/jobs/train.py}, args: [--rate, "0.1"]}}
)";

using Overrides = std::vector<std::pair<std::string, std::string>>;

Result<ParsedJob> WithScript(const Overrides& overrides, const char* document = kWithScript) {
  return ParseJob("job.yaml", document, overrides, ReadBy::kRunOrRole, SpecTraining::kUnlessProgram);
}

std::string ScriptErrors(const Overrides& overrides, const char* document = kWithScript) {
  const auto parsed = WithScript(overrides, document);
  return parsed.ok() ? "" : parsed.status().message();
}

TEST(ScriptTest, PythonRunsAFileWithoutACommand) {
  const auto parsed = WithScript({});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_FALSE(parsed->training.has_training);
  const Program& program = *parsed->training.program;
  EXPECT_EQ(program.script->uri, "s3://code/jobs/train.py");
  EXPECT_EQ(program.script->Describe(), "s3://code/jobs/train.py");
  EXPECT_THAT(program.Words("/here"), ElementsAre("python3", "/here/train.py", "--rate", "0.1"));
  EXPECT_THAT(program.CommandWords("/here"), ElementsAre("python3", "/here/train.py"));
}

TEST(ScriptTest, ItsPathFollowsTheCommand) {
  const auto parsed = WithScript({{"trainers.program.command", "[python3, -m, espalier]"}});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_THAT(parsed->training.program->Words("/here"),
              ElementsAre("python3", "-m", "espalier", "/here/train.py", "--rate", "0.1"));
}

TEST(ScriptTest, AnArchiveNamesItsEntrypoint) {
  for (const char* const archive : {"a.tar", "a.tar.gz", "a.tgz", "a.zip"}) {
    const std::string uri = std::string("s3://code/") + archive;
    const auto parsed =
        WithScript({{"trainers.program.script.uri", uri}, {"trainers.program.script.entrypoint", "src/train.py"}});
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_THAT(parsed->training.program->CommandWords("/here"), ElementsAre("python3", "/here/src/train.py"));
    EXPECT_THAT(ScriptErrors({{"trainers.program.script.uri", uri}}),
                HasSubstr("spec.trainers.program.script.entrypoint: is missing"));
  }
  EXPECT_THAT(ScriptErrors({{"trainers.program.script.entrypoint", "train.py"}}),
              HasSubstr("spec.trainers.program.script.entrypoint: only for an archive"));
}

TEST(ScriptTest, KeyOfConfigMapIsFile) {
  constexpr const char* kWithConfigMap = R"(apiVersion: espalier.io/v1alpha1
kind: DistTraining
metadata: {name: cora}
spec:
  graph: {source: {uri: s3://graphs/cora, format: OGB}}
  trainers: {program: {script: {configMapKeyRef: {name: code, key: train.py}}}}
)";
  const auto parsed = WithScript({}, kWithConfigMap);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->training.program->script->Describe(), "ConfigMap code, key train.py");
  EXPECT_THAT(parsed->training.program->CommandWords("/here"), ElementsAre("python3", "/here/train.py"));
  EXPECT_THAT(ScriptErrors({{"trainers.program.script.uri", "s3://code/train.py"}}, kWithConfigMap),
              HasSubstr("spec.trainers.program.script: expected either uri or configMapKeyRef"));
  EXPECT_THAT(ScriptErrors({{"trainers.program.script.configMapKeyRef.key", "../train.py"}}, kWithConfigMap),
              HasSubstr("spec.trainers.program.script.configMapKeyRef.key: "));
}

TEST(ScriptTest, NamesExactlyOneFile) {
  const auto error_of = [](const std::string& uri) { return ScriptErrors({{"trainers.program.script.uri", uri}}); };
  EXPECT_THAT(error_of("s3://code"), HasSubstr("spec.trainers.program.script.uri: names a folder"));
  EXPECT_THAT(error_of("s3://code/jobs/"), HasSubstr("names a folder"));
  EXPECT_THAT(error_of("s3://code/../train.py"), HasSubstr("must not have an empty, '.' or '..' part"));
  EXPECT_THAT(error_of("https://code/train.py"), HasSubstr("spec.trainers.program.script.uri: "));
  EXPECT_THAT(error_of("s3://code/run.sh"),
              HasSubstr("spec.trainers.program.command: is missing: expected a command: only a script *.py"));
  EXPECT_EQ(ScriptErrors({{"trainers.program.script.uri", "run.sh"}, {"trainers.program.command", "[bash]"}}), "");
}

TEST(ScriptTest, RefusesInvalidDigests) {
  const std::string digest(64, 'a');
  EXPECT_EQ(ScriptErrors({{"trainers.program.script.sha256", digest}}), "");
  for (const std::string& wrong : {digest.substr(1), "A" + digest.substr(1), "sha256:" + digest.substr(7)}) {
    EXPECT_THAT(ScriptErrors({{"trainers.program.script.sha256", wrong}}),
                HasSubstr("spec.trainers.program.script.sha256: expected 64 lower-case"));
  }
}

TEST(ScriptTest, PathsStayInTheirFolder) {
  for (const char* const path : {"train.py", "a/b.py", "..a/b", "%2e%2e/a"}) EXPECT_TRUE(IsPathWithin(path)) << path;
  for (const char* const path : {"", "/a", "a/", "a//b", ".", "./a", "../a", "a/..", "a/../b", "a\\b", "a\nb"}) {
    EXPECT_FALSE(IsPathWithin(path)) << path;
  }
  EXPECT_THAT(
      ScriptErrors({{"trainers.program.script.uri", "a.zip"}, {"trainers.program.script.entrypoint", "../train.py"}}),
      HasSubstr("spec.trainers.program.script.entrypoint: expected a relative path"));
}

}  // namespace
}  // namespace espalier::job
