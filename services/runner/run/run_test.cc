#include "services/runner/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "services/runner/run/run_folder.h"
#include "services/runner/run/testing/fake_roles.h"
#include "services/runner/run/testing/read_text.h"
#include "services/telemetry/process.h"

namespace espalier::run {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// The job of FakeRolesTest with 1 sampler.
class RunTest : public FakeRolesTest {
 protected:
  RunOptions Options() const {
    RunOptions options = FakeRolesTest::Options();
    options.settings = {"samplers.replicas=1", "runPolicy.backoffLimit=" + std::to_string(backoff_limit_)};
    return options;
  }
  RunOutcome RunQuietly() const { return FakeRolesTest::RunQuietly(Options()); }
  using FakeRolesTest::RunQuietly;

  // Expects that no child that was ready still runs.
  void ExpectNoChildRuns() const {
    for (const char* child : {"server-0", "server-1", "server-2", "server-3", "sampler-0", "trainer-0", "trainer-1"}) {
      const auto ready = telemetry::ReadReadyFile(root_ / "out" / "run" / (std::string(child) + ".json"));
      if (!ready.ok()) continue;
      EXPECT_EQ(kill(static_cast<pid_t>(ready->pid), 0), -1) << child;
    }
  }
  std::string ArgumentsOf(const std::string& child) const {
    return ReadText(root_ / "out" / "run" / (child + ".args"));
  }

  void RetryTimes(int backoff_limit) { backoff_limit_ = backoff_limit; }
  nlohmann::json State() const { return nlohmann::json::parse(ReadText(root_ / "out" / "run" / "state.json")); }

  int backoff_limit_ = 0;
};

TEST_F(RunTest, RunsEveryRoleAndWritesResult) {
  RunOptions options = Options();
  options.settings.push_back("trainers.threads=3");
  const RunOutcome outcome = RunQuietly(options);

  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  ExpectNoChildRuns();
  const auto result = nlohmann::json::parse(ReadText(root_ / "out" / "result.json"));
  EXPECT_EQ(result["testAccuracy"], 0.8125);
  EXPECT_EQ(result["partitionKey"], "k");
  EXPECT_EQ(result["trainers"], 2);
  EXPECT_THAT(outcome.summary, Contains("testAccuracy: 0.8125"));
  const std::string out = (root_ / "out").string();
  EXPECT_THAT(ArgumentsOf("server-1"), HasSubstr("--partitions\n" + out + "/partitions/k\n--partition\n1\n"));
  EXPECT_THAT(ArgumentsOf("sampler-0"), HasSubstr("--servers\n127.0.0.1:10,127.0.0.1:11\n"));
  EXPECT_THAT(ArgumentsOf("trainer-0"), HasSubstr("--rendezvous\n127.0.0.1:0\n"));
  EXPECT_THAT(ArgumentsOf("trainer-1"),
              AllOf(HasSubstr("--rendezvous\n127.0.0.1:3\n"), HasSubstr("--samplers\n127.0.0.1:10\n"),
                    HasSubstr("--rank\n1\n"), HasSubstr("OMP_NUM_THREADS=3\n"), Not(HasSubstr("--audit"))));
  for (const char* child : {"server-0", "sampler-0", "trainer-0"}) {
    EXPECT_THAT(ArgumentsOf(child), HasSubstr("--job-name\ncora\n")) << "another's would be refused";
  }
}

TEST_F(RunTest, ReplicasServeSamePartitionsAndClientsGetAllAddresses) {
  RetryTimes(2);
  Let("server-2 once:signal 9");
  Let("trainer-0 await-server-2 2");
  RunOptions options = Options();
  options.settings.push_back("servers.replicasPerPartition=2");
  const RunOutcome outcome = RunQuietly(options);
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(ArgumentsOf("server-2"), AllOf(HasSubstr("--listen\n127.0.0.1:12\n"), HasSubstr("--partition\n0\n")));
  EXPECT_THAT(ArgumentsOf("server-3"), HasSubstr("--partition\n1\n"));
  EXPECT_THAT(ArgumentsOf("trainer-1"), HasSubstr("--servers\n127.0.0.1:10|127.0.0.1:12,127.0.0.1:11|127.0.0.1:13\n"));
  const auto result = nlohmann::json::parse(ReadText(root_ / "out" / "result.json"));
  EXPECT_EQ(result["restarts"]["services"], 1);
  EXPECT_EQ(result["restarts"]["trainers"], 0);
  ExpectNoChildRuns();
}

TEST_F(RunTest, AServerOfSeveralProcessesIsServersOfOnePartition) {
  RetryTimes(2);
  Let("server-2 once:signal 9");
  Let("trainer-0 await-server-2 2");
  RunOptions options = Options();
  options.settings.push_back("servers.containersPerPod=2");
  const RunOutcome outcome = RunQuietly(options);
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(ArgumentsOf("server-2"), AllOf(HasSubstr("--listen\n127.0.0.1:12\n"), HasSubstr("--partition\n0\n")));
  EXPECT_THAT(ArgumentsOf("trainer-1"), HasSubstr("--servers\n127.0.0.1:10|127.0.0.1:12,127.0.0.1:11|127.0.0.1:13\n"));
  const auto result = nlohmann::json::parse(ReadText(root_ / "out" / "result.json"));
  EXPECT_EQ(result["restarts"]["services"], 1);
  EXPECT_EQ(result["restarts"]["trainers"], 0);
  ExpectNoChildRuns();
}

TEST_F(RunTest, WritesEffectiveDocumentWithPositions) {
  RunOptions options = Options();
  options.settings.push_back("training.epochs=3");
  options.settings.push_back("graph.source.uri=relative/graph");
  ASSERT_EQ(RunQuietly(options).code, ExitCode::kDone);

  const auto job = nlohmann::json::parse(ReadText(root_ / "out" / "job.json"));
  EXPECT_EQ(job["spec"]["training"]["epochs"], 3);
  EXPECT_EQ(job["spec"]["graph"]["source"]["uri"], fs::absolute("relative/graph").string());
  EXPECT_EQ(job["spec"]["graph"]["partitions"]["uri"], (root_ / "out" / "partitions").string());
  EXPECT_EQ(job["spec"]["output"]["uri"], (root_ / "out").string());
}

TEST_F(RunTest, CrashedServerEndsRunWithNameAndLog) {
  Let("server-1 signal 11");
  Let("trainer-0 hang 0");
  Let("trainer-1 hang 0");

  const RunOutcome outcome = RunQuietly();

  EXPECT_EQ(outcome.code, ExitCode::kBug);
  EXPECT_THAT(outcome.error, HasSubstr("server-1 ended with signal 11 (Segmentation fault)"));
  EXPECT_THAT(outcome.error, HasSubstr("server-1| ERROR this is the end why=signal"));
  EXPECT_THAT(outcome.error, HasSubstr("whole log: " + (root_ / "out/logs/server-1.log").string()));
  EXPECT_FALSE(fs::exists(root_ / "out" / "result.json"));
  ExpectNoChildRuns();
}

TEST_F(RunTest, AChildsExitCodeBecomesTheRuns) {
  Let("trainer-1 exit 65");
  Let("trainer-0 hang 0");
  const RunOutcome outcome = RunQuietly();
  EXPECT_EQ(outcome.code, ExitCode::kBadInput);
  EXPECT_THAT(outcome.error, HasSubstr("trainer-1 ended with exit code 65 (bad input) while "));
  ExpectNoChildRuns();
}

TEST_F(RunTest, NamesTheCauseRatherThanItsConsequences) {
  Let("trainer-0 exit 74");  // like a trainer that has lost a server
  Let("trainer-1 exit 74");
  Let("sampler-0 exit 3");

  const RunOutcome outcome = RunQuietly();

  EXPECT_THAT(outcome.error, HasSubstr("sampler-0 ended with exit code 3 "));
  EXPECT_EQ(outcome.code, ExitCode::kBug);
}

TEST_F(RunTest, ABadGraphEndsTheRunBeforeAnythingElseStarts) {
  Let("partitioner exit 65");
  const RunOutcome outcome = RunQuietly();
  EXPECT_EQ(outcome.code, ExitCode::kBadInput);
  EXPECT_THAT(outcome.error, HasSubstr("partitioner ended with exit code 65 (bad input) while partitioning"));
  EXPECT_EQ(ArgumentsOf("server-0"), "");
}

TEST_F(RunTest, UnexpectedExitOfServerIsFailure) {
  Let("server-0 exit-early 0");
  const RunOutcome outcome = RunQuietly();
  EXPECT_EQ(outcome.code, ExitCode::kBug);
  EXPECT_THAT(outcome.error, HasSubstr("server-0 ended with exit code 0"));
  ExpectNoChildRuns();
}

TEST_F(RunTest, ChildThatNeverGetsReadyTimesOut) {
  Let("server-1 never-ready 0");
  RunOptions options = Options();
  options.ready_deadline = std::chrono::seconds(5);  // the other children must be ready within it too
  const RunOutcome outcome = RunQuietly(options);
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  EXPECT_THAT(outcome.error, HasSubstr("server-1 was not ready within "));
  ExpectNoChildRuns();
}

TEST_F(RunTest, StopEndsAllProcesses) {
  Let("trainer-1 signal-run 15");
  Let("trainer-0 hang 0");
  const RunOutcome outcome = RunQuietly();
  EXPECT_EQ(outcome.code, ExitCode::kAskedToStop);
  EXPECT_THAT(outcome.error, HasSubstr("stopped while "));
  ExpectNoChildRuns();
}

TEST_F(RunTest, ProcessThatIgnoresStopIsKilled) {
  Let("trainer-0 ignore-term 0");
  Let("trainer-1 exit 70");
  RunOptions options = Options();
  options.stop_grace = std::chrono::milliseconds(100);
  const RunOutcome outcome = RunQuietly(options);
  EXPECT_EQ(outcome.code, ExitCode::kBug);
  ExpectNoChildRuns();
}

TEST_F(RunTest, NothingSurvivesAKilledRun) {
  Let("trainer-0 signal-run 9");
  // Makes this process the parent of orphans, so that it can wait for them.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const pid_t run = fork();
  if (run == 0) {
    RunQuietly();
    _exit(0);
  }
  int state = 0;
  ASSERT_EQ(waitpid(run, &state, 0), run);
  EXPECT_TRUE(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL);
  while (waitpid(-1, &state, 0) > 0) {  // hangs if a child still runs
    EXPECT_TRUE(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL);
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  ExpectNoChildRuns();
}

TEST_F(RunTest, RefusesFolderInUse) {
  const Result<RunFolder> other = RunFolder::Open(root_ / "out");
  ASSERT_TRUE(other.ok()) << other.status().ToString();
  const RunOutcome outcome = RunQuietly();
  EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(outcome.error, HasSubstr("another run is using " + (root_ / "out").string()));
}

TEST_F(RunTest, RefusesFolderWithForeignModel) {
  fs::create_directories(root_ / "out/model");
  const RunOutcome outcome = RunQuietly();
  EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(outcome.error, HasSubstr("has model"));
  EXPECT_TRUE(fs::exists(root_ / "out/model"));
}

TEST_F(RunTest, FailedRunDeletesEarlierResult) {
  ASSERT_EQ(RunQuietly().code, ExitCode::kDone);
  Let("trainer-1 exit 70");
  EXPECT_EQ(RunQuietly().code, ExitCode::kBug);
  EXPECT_FALSE(fs::exists(root_ / "out" / "result.json"));
}

TEST_F(RunTest, ErrorsOfTheDocumentComeBeforeAnyFolder) {
  RunOptions options = Options();
  options.settings = {"training.epochs=many"};
  EXPECT_THAT(RunQuietly(options).error, HasSubstr("--set training.epochs: spec.training.epochs: expected an integer"));
  options.settings = {"training.epochs"};
  EXPECT_THAT(RunQuietly(options).error, HasSubstr("expected path=value"));
  options.settings.clear();
  options.job_file = root_ / "none.yaml";
  EXPECT_EQ(RunQuietly(options).code, ExitCode::kBadDocument);
  EXPECT_FALSE(fs::exists(root_ / "out"));
}

TEST_F(RunTest, AMissingProgramIsNamed) {
  fs::remove(root_ / "bin" / "espalier-sampler");
  const RunOutcome outcome = RunQuietly();
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("starting sampler-0"), HasSubstr("No such file")));
  ExpectNoChildRuns();
}

TEST_F(RunTest, AMissingAuditIsNoSuccess) {
  RunOptions options = Options();
  options.roles.audit = true;
  const RunOutcome outcome = RunQuietly(options);
  EXPECT_NE(outcome.code, ExitCode::kDone);
  EXPECT_THAT(outcome.error, HasSubstr("merging the audit"));
}

TEST_F(RunTest, AuditRefusesSeveralTrainersWithExpandOnce) {
  RunOptions options = Options();
  options.roles.audit = true;
  options.settings.insert(options.settings.end(), {"trainers.replicas=2", "training.sampling.expand=Once"});
  const RunOutcome outcome = RunQuietly(options);
  EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(outcome.error, HasSubstr("set spec.trainers.replicas to 1"));
  EXPECT_FALSE(fs::exists(root_ / "out"));
}

TEST_F(RunTest, FailedServerRestartsAtItsAddress) {
  RetryTimes(2);
  Let("server-1 once:signal 9");
  Let("trainer-0 await-server-1 2");
  const RunOutcome outcome = RunQuietly();
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(ArgumentsOf("server-1"), AllOf(HasSubstr("--listen\n127.0.0.1:11\n"), HasSubstr("--partition\n1\n")));
  EXPECT_THAT(ArgumentsOf("server-0"), HasSubstr("--listen\n127.0.0.1:0\n"));
  const auto result = nlohmann::json::parse(ReadText(root_ / "out" / "result.json"));
  EXPECT_EQ(result["restarts"]["services"], 1);
  EXPECT_EQ(result["restarts"]["trainers"], 0);
  ExpectNoChildRuns();
}

TEST_F(RunTest, FailedTrainerStartsIncarnationStoredInAdvance) {
  RetryTimes(2);
  Let("trainer-0 once:exit 74");
  Let("trainer-1 once:signal 9");
  const RunOutcome outcome = RunQuietly();
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(ArgumentsOf("trainer-0"), AllOf(HasSubstr("--incarnation\n2\n"), HasSubstr("--resume\nauto\n"),
                                              HasSubstr("--rendezvous\n127.0.0.1:0\n")));
  EXPECT_THAT(ArgumentsOf("trainer-1"), AllOf(HasSubstr("--incarnation\n2\n"),
                                              HasSubstr("--checkpoints\n" + (root_ / "out/checkpoints").string())));
  EXPECT_EQ(State()["incarnation"], 2);
  EXPECT_EQ(State()["attempts"]["counted"], 1);
  EXPECT_EQ(State()["succeeded"], true);
  ExpectNoChildRuns();
}

TEST_F(RunTest, FailingTrainerEndsRunAtLimit) {
  RetryTimes(1);
  Let("trainer-1 exit 70");
  const RunOutcome outcome = RunQuietly();
  EXPECT_EQ(outcome.code, ExitCode::kBug);
  EXPECT_THAT(outcome.error, HasSubstr("trainer-1 ended with exit code 70"));
  EXPECT_EQ(State()["attempts"]["total"], 2);
  EXPECT_EQ(State()["succeeded"], false);
  ExpectNoChildRuns();
}

TEST_F(RunTest, BadInputIsNotRetried) {
  RetryTimes(5);
  Let("sampler-0 exit 65");
  Let("trainer-0 hang 0");
  const RunOutcome outcome = RunQuietly();
  EXPECT_EQ(outcome.code, ExitCode::kBadInput);
  EXPECT_THAT(outcome.error, HasSubstr("sampler-0 ended with exit code 65"));
}

TEST_F(RunTest, AKilledPartitionerIsStartedAgain) {
  RetryTimes(1);
  Let("partitioner once:signal 9");
  EXPECT_EQ(RunQuietly().code, ExitCode::kDone);
}

TEST_F(RunTest, PartitionersAreOneGroupAlsoWhereOneIsStartedAgain) {
  RetryTimes(1);
  Let("partitioner-1 once:signal 9");
  RunOptions options = Options();
  options.settings.insert(options.settings.end(),
                          {"partitioner.replicas=2", "graph.partitions.algorithm=Random", "graph.source.format=NPY",
                           "graph.partitions.balance=[]", "graph.preprocess.normalizeFeatures=None"});
  ASSERT_EQ(RunQuietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ArgumentsOf("partitioner"), HasSubstr("--rank\n0\n--world-size\n2\n--group\nrun-"));
  EXPECT_THAT(ArgumentsOf("partitioner-1"), HasSubstr("--rank\n1\n--world-size\n2\n--group\nrun-"));
  EXPECT_TRUE(fs::exists(root_ / "out" / "logs" / "partitioner-1.log"));
}

TEST_F(RunTest, SinglePartitionerHasNoGroup) {
  ASSERT_EQ(RunQuietly().code, ExitCode::kDone);
  EXPECT_THAT(ArgumentsOf("partitioner"), Not(HasSubstr("--group")));
}

TEST_F(RunTest, ErrorOfFailedProcessIsReason) {
  Let("trainer-1 exit-with-words 74");
  Let("trainer-0 hang 0");
  EXPECT_THAT(RunQuietly().error, HasSubstr("while training: UNAVAILABLE: the last words"));
}

TEST_F(RunTest, FailpointsApplyToFirstProcessOnly) {
  RetryTimes(1);
  Let("server-1 once:signal 9");
  Let("trainer-0 await-server-1 2");
  RunOptions options = Options();
  options.environment = {{"ESPALIER_FAILPOINTS", "run=crash"},
                         {"ESPALIER_FAILPOINTS_SERVER", "a=crash"},
                         {"ESPALIER_FAILPOINTS_TRAINER_1", "b=crash"}};
  ASSERT_EQ(RunQuietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ArgumentsOf("server-0"), HasSubstr("ESPALIER_FAILPOINTS=a=crash\n"));
  EXPECT_THAT(ArgumentsOf("server-1"), HasSubstr("ESPALIER_FAILPOINTS=\n"));  // of its second process
  EXPECT_THAT(ArgumentsOf("trainer-0"), HasSubstr("ESPALIER_FAILPOINTS=\n"));
  EXPECT_THAT(ArgumentsOf("trainer-1"), HasSubstr("ESPALIER_FAILPOINTS=b=crash\n"));
}

TEST_F(RunTest, ChildrenGetStoreSettings) {
  RunOptions options = Options();
  options.settings.push_back("storage.s3.region=eu-north-1");
  ASSERT_EQ(RunQuietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ArgumentsOf("trainer-0"), HasSubstr("AWS_REGION=eu-north-1\n"));
}

}  // namespace
}  // namespace espalier::run
