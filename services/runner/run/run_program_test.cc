// Tests runs of a user's program, here a shell script, with fake role binaries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "services/runner/run/testing/fake_roles.h"
#include "services/runner/run/testing/read_text.h"
#include "services/telemetry/process.h"

namespace espalier::run {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// The program is program.sh in the test's folder.
class RunProgramTest : public FakeRolesTest {
 protected:
  // `script` is the body of the program. `$SELF` is set to rank and incarnation: "0.1".
  RunOptions OptionsFor(const std::string& script) const {
    std::ofstream(root_ / "program.sh") << "#!/bin/sh\nSELF=$ESPALIER_RANK.$ESPALIER_INCARNATION\n" << script << "\n";
    fs::permissions(root_ / "program.sh", fs::perms::owner_all);
    RunOptions options = Options();
    options.settings = {"runPolicy.backoffLimit=0"};
    options.roles.program = {(root_ / "program.sh").string()};
    return options;
  }
  std::string TextOf(const std::string& below) const { return ReadText(root_ / below); }
};

TEST_F(RunProgramTest, RanksGetDocumentedEnvironment) {
  setenv("ESPALIER_PARTITIONS", "/somewhere/else", 1);
  setenv("ESPALIER_TLS_KEY", "/somewhere/tls.key", 1);
  RunOptions options =
      OptionsFor("env | sort > $ESPALIER_OUTPUT/env.$SELF; echo \"$#:$1:$2\" >> $ESPALIER_OUTPUT/env.$SELF");
  options.roles.program.insert(options.roles.program.end(), {"two words", "--rate"});
  const RunOutcome outcome = RunQuietly(options);
  unsetenv("ESPALIER_PARTITIONS");
  unsetenv("ESPALIER_TLS_KEY");

  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  const std::string out = (root_ / "out").string();
  EXPECT_THAT(TextOf("out/env.1.1"),
              AllOf(HasSubstr("ESPALIER_SERVERS=127.0.0.1:10,127.0.0.1:11\n"), HasSubstr("ESPALIER_RANK=1\n"),
                    HasSubstr("ESPALIER_WORLD_SIZE=2\n"), HasSubstr("ESPALIER_INCARNATION=1\n"),
                    HasSubstr("ESPALIER_JOB_NAME=cora\n"), HasSubstr("ESPALIER_PARTITION_KEY=k\n"),
                    HasSubstr("ESPALIER_PARTITIONS=\n"), HasSubstr("ESPALIER_TLS_KEY=\n"),
                    HasSubstr("ESPALIER_OUTPUT=" + out + "\n"), HasSubstr("ESPALIER_JOB=" + out + "/job.json\n"),
                    HasSubstr("ESPALIER_RESUME=never\n"), HasSubstr("ESPALIER_LOCAL_ADDRESS=127.0.0.1\n"),
                    HasSubstr("\nRANK=1\n"), HasSubstr("\nWORLD_SIZE=2\n"), HasSubstr("\nLOCAL_RANK=1\n"),
                    HasSubstr("\nMASTER_ADDR=127.0.0.1\n"), ContainsRegex("\nMASTER_PORT=[23][0-9]+\n"),
                    HasSubstr("OMP_NUM_THREADS=1\n"), HasSubstr("2:two words:--rate\n")));
  EXPECT_THAT(TextOf("out/env.0.1"), HasSubstr("ESPALIER_RANK=0\n"));
  const auto port_of = [&](const std::string& file) {
    const std::string text = TextOf(file);
    const size_t begin = text.find("MASTER_PORT=");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(port_of("out/env.0.1"), port_of("out/env.1.1"));
  EXPECT_THAT(TextOf("out/run/partitioner.args"), HasSubstr("--trained-by-program\n"));
  const auto result = nlohmann::json::parse(TextOf("out/result.json"));
  EXPECT_EQ(result["trainers"], 2);
  EXPECT_EQ(result["partitionKey"], "k");
  EXPECT_EQ(result["program"][1], "two words");
}

TEST_F(RunProgramTest, ResultIsCompletedAndShown) {
  const RunOutcome outcome = RunQuietly(
      OptionsFor("[ $ESPALIER_RANK = 0 ] && echo '{\"testAccuracy\": 0.5}' > $ESPALIER_OUTPUT/result.json; true"));
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(outcome.summary, Contains("testAccuracy: 0.5"));
  EXPECT_EQ(nlohmann::json::parse(outcome.result_json)["restarts"]["trainers"], 0);

  const RunOutcome no_object = RunQuietly(OptionsFor("echo 'fine' > $ESPALIER_OUTPUT/result.json"));
  EXPECT_EQ(no_object.code, ExitCode::kDone) << no_object.error;
  EXPECT_EQ(TextOf("out/result.json.2"), "fine\n");
  EXPECT_EQ(nlohmann::json::parse(TextOf("out/result.json"))["incarnation"], 2);
}

TEST_F(RunProgramTest, FirstFailureEndsAllAndShowsLog) {
  const RunOutcome outcome =
      RunQuietly(OptionsFor("if [ $ESPALIER_RANK = 1 ]; then echo 'the rate is too high' >&2; exit 3; fi\n"
                            "exec sleep 600"));
  EXPECT_EQ(outcome.code, ExitCode::kBug);
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("trainer-1 ended with exit code 3 while running the program"),
                                   HasSubstr("trainer-1| the rate is too high")));
  EXPECT_FALSE(fs::exists(root_ / "out/result.json"));
}

TEST_F(RunProgramTest, ExitCodesHaveMeaningOfTrainers) {
  RunOptions options = OptionsFor("exit 65");
  options.settings = {"runPolicy.backoffLimit=5"};
  EXPECT_EQ(RunQuietly(options).code, ExitCode::kBadInput);
  EXPECT_EQ(nlohmann::json::parse(TextOf("out/run/state.json"))["attempts"]["total"], 1);
  EXPECT_EQ(RunQuietly(OptionsFor("exit 77")).code, ExitCode::kBadCredentials);
}

TEST_F(RunProgramTest, AllRanksRestartWithResume) {
  RunOptions options = OptionsFor(
      "echo $ESPALIER_RESUME > $ESPALIER_OUTPUT/resume.$SELF\n"
      "[ $SELF = 0.1 ] && kill -9 $$\n"
      "[ $SELF = 1.1 ] && exec sleep 600\n"
      "true");
  options.settings = {"runPolicy.backoffLimit=1"};
  const RunOutcome outcome = RunQuietly(options);
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_EQ(TextOf("out/resume.0.1"), "never\n");
  EXPECT_EQ(TextOf("out/resume.0.2"), "auto\n");
  EXPECT_EQ(TextOf("out/resume.1.2"), "auto\n");
  EXPECT_EQ(nlohmann::json::parse(TextOf("out/result.json"))["restarts"]["trainers"], 1);
}

TEST_F(RunProgramTest, StopReportsResumeCommandAndResumeSetsVariable) {
  const RunOutcome stopped = RunQuietly(OptionsFor("[ $ESPALIER_RANK = 1 ] && kill -TERM $PPID; exec sleep 600"));
  EXPECT_EQ(stopped.code, ExitCode::kAskedToStop);
  EXPECT_THAT(stopped.error, AllOf(HasSubstr("stopped while running the program"), HasSubstr(" --resume -- /"),
                                   Not(HasSubstr("checkpoint"))));

  telemetry::StopSignal::Install().ResetForTesting();
  RunOptions options = OptionsFor("echo $ESPALIER_RESUME > $ESPALIER_OUTPUT/resume.$SELF");
  options.resume = true;
  ASSERT_EQ(RunQuietly(options).code, ExitCode::kDone);
  EXPECT_EQ(TextOf("out/resume.0.2"), "auto\n");
}

TEST_F(RunProgramTest, SavedFilesSurviveLaterRuns) {
  RunOptions options = OptionsFor(
      "cat $ESPALIER_OUTPUT/model/state > $ESPALIER_OUTPUT/found.$SELF\n"
      "mkdir -p $ESPALIER_OUTPUT/model; echo something > $ESPALIER_OUTPUT/model/state\n"
      "echo mine > $ESPALIER_OUTPUT/manifest.json; exit 65");
  options.settings = {"runPolicy.backoffLimit=0", "trainers.replicas=1"};
  EXPECT_EQ(RunQuietly(options).code, ExitCode::kBadInput);
  EXPECT_EQ(TextOf("out/manifest.json"), "mine\n");
  options.resume = true;
  EXPECT_EQ(RunQuietly(options).code, ExitCode::kBadInput);
  EXPECT_EQ(TextOf("out/found.0.2"), "something\n");
  options.resume = false;
  EXPECT_EQ(RunQuietly(options).code, ExitCode::kBadInput);
  EXPECT_EQ(TextOf("out/found.0.3"), "something\n");
}

TEST_F(RunProgramTest, ADocumentNeedsNoTraining) {
  RunOptions options = OptionsFor("true");
  std::ofstream(root_ / "job.yaml") << "apiVersion: espalier.io/v1alpha1\nkind: DistTraining\nmetadata: {name: cora}\n"
                                       "spec:\n  graph:\n    source: {uri: /srv/graphs/cora, format: OGB}\n"
                                       "    partitions: {count: 2}\n";
  const RunOutcome outcome = RunQuietly(options);
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_FALSE(nlohmann::json::parse(TextOf("out/job.json"))["spec"].contains("training"));
  options.roles.program.clear();
  EXPECT_THAT(RunQuietly(options).error, HasSubstr("spec.training: is missing"));
}

TEST_F(RunProgramTest, ADocumentMayNameItAndTheCommandWins) {
  RunOptions options = OptionsFor("echo \"$#:$1:$2\" > $ESPALIER_OUTPUT/words.$SELF");
  options.roles.program.clear();
  std::ofstream(root_ / "job.yaml") << "apiVersion: espalier.io/v1alpha1\nkind: DistTraining\nmetadata: {name: cora}\n"
                                       "spec:\n  graph:\n    source: {uri: /srv/graphs/cora, format: OGB}\n"
                                       "    partitions: {count: 2}\n"
                                       "  trainers: {program: {command: [" +
                                           (root_ / "program.sh").string() + ", two words], args: [$(HOME)]}}\n";
  const RunOutcome outcome = RunQuietly(options);
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_EQ(TextOf("out/words.0.1"), "2:two words:$(HOME)\n");
  EXPECT_EQ(nlohmann::json::parse(TextOf("out/result.json"))["program"][1], "two words");

  options.roles.program = {(root_ / "program.sh").string(), "another"};
  ASSERT_EQ(RunQuietly(options).code, ExitCode::kDone);
  EXPECT_EQ(TextOf("out/words.0.2"), "1:another:\n");

  options.roles.program.clear();
  options.settings.push_back("trainers.program.command=[" + (root_ / "none").string() + "]");
  EXPECT_THAT(RunQuietly(options).error, HasSubstr("the program " + (root_ / "none").string()));
}

TEST_F(RunProgramTest, StopOfProgramInDocumentNamesDocument) {
  RunOptions options = OptionsFor("[ $ESPALIER_RANK = 0 ] && kill -TERM $PPID; exec sleep 600");
  options.settings.push_back("trainers.program.command=[" + options.roles.program.front() + "]");
  options.roles.program.clear();
  const RunOutcome stopped = RunQuietly(options);
  EXPECT_EQ(stopped.code, ExitCode::kAskedToStop);
  EXPECT_THAT(stopped.error, AllOf(HasSubstr(" --resume"), Not(HasSubstr(" -- /"))));
}

TEST_F(RunProgramTest, ReportsProgramThatCannotStart) {
  RunOptions options = OptionsFor("true");
  options.roles.program = {(root_ / "none").string()};
  const RunOutcome missing = RunQuietly(options);
  EXPECT_EQ(missing.code, ExitCode::kBadDocument);
  EXPECT_THAT(missing.error, HasSubstr("the program " + (root_ / "none").string()));
  EXPECT_FALSE(fs::exists(root_ / "out"));

  options = OptionsFor("true");
  options.roles.audit = true;
  EXPECT_THAT(RunQuietly(options).error, HasSubstr("omit it with a program"));
}

}  // namespace
}  // namespace espalier::run
