// Tests of launches and copies that succeed, and of documents and hosts that they refuse.
#include "services/runner/launch/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/base/parallel.h"
#include "services/runner/launch/partition_copy.h"
#include "services/runner/launch/testing/fake_host.h"

namespace espalier::launch {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class LaunchTest : public FakeHostTest {
 protected:
  run::RunOutcome CopyQuietly(const std::string& folder) const {
    terminal::Progress progress(terminal::ProgressStyle::kQuiet, stderr);
    return Copy({.connect = Connection(), .workspace = root_ / "work", .partitions = {}, .folders = {folder}},
                progress);
  }
};

TEST_F(LaunchTest, RunsEveryRoleOnTheHostAndThePartitionerHere) {
  LaunchOptions options = Options();
  options.run.settings.push_back("trainers.featureCache={memory: 1Mi, sharedMemory: 3Mi}");
  const run::RunOutcome outcome = LaunchQuietly(options);
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(outcome.result_json, HasSubstr("\"testAccuracy\": 0.8125"));
  EXPECT_THAT(ReadArguments("trainer-1"), HasSubstr(" of 3145728 bytes\n")) << "the shared memory of the host";
  EXPECT_THAT(ReadArguments("server-1"), HasSubstr("--partitions\n" + (root_ / "out/partitions/k").string() + "\n"));
  EXPECT_THAT(ReadArguments("trainer-1"), HasSubstr("--job\n" + (root_ / "out/hosts/0/job.json").string() + "\n"));
  EXPECT_FALSE(fs::exists(root_ / "out/hosts/0/run/tls"));
}

TEST_F(LaunchTest, SeveralPartitionersNeedNoLocalPaths) {
  Let("partitioner-2 once:signal 9");
  const std::string assignment = "graph.partitions.assignmentUri=";
  struct Places {
    std::string source, partitions;
    std::vector<std::string> cut;
    bool on_hosts = false;
  };
  for (const Places& places : std::vector<Places>{
           {"s3://bucket/graph", "s3://bucket/parts", {"graph.partitions.algorithm=Random"}, true},
           {"s3://bucket/graph",
            "s3://bucket/parts",
            {"graph.partitions.algorithm=External", assignment + "s3://bucket/cut"},
            true},
           {"s3://bucket/graph", "s3://bucket/parts", {"graph.partitions.algorithm=External", assignment + "/srv/cut"}},
           {"s3://bucket/graph", root_ / "parts", {"graph.partitions.algorithm=Random"}},
           {"/srv/graph", "s3://bucket/parts", {"graph.partitions.algorithm=Random"}}}) {
    fs::remove_all(root_ / "out");
    LaunchOptions options = Options();
    std::vector<std::string>& settings = options.run.settings;
    settings.insert(settings.end(), {"partitioner.replicas=3", "graph.source.uri=" + places.source,
                                     "graph.source.format=NPY", "graph.partitions.uri=" + places.partitions,
                                     "graph.partitions.balance=[]", "graph.preprocess.normalizeFeatures=None"});
    settings.insert(settings.end(), places.cut.begin(), places.cut.end());
    const run::RunOutcome outcome = LaunchQuietly(options);
    ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
    EXPECT_THAT(Read("out/run/partitioner.args"), HasSubstr("--rank\n0\n--world-size\n3\n"));
    const int threads = std::max(1, AvailableProcessors() / (places.on_hosts ? 2 : 3));
    for (const std::string rank : {"1", "2"}) {
      const std::string name = "partitioner-" + rank;
      EXPECT_EQ(fs::exists(root_ / "out/run" / (name + ".args")), !places.on_hosts) << name;
      const std::string arguments = places.on_hosts ? ReadArguments(name) : Read("out/run/" + name + ".args");
      EXPECT_THAT(arguments, HasSubstr("--threads\n" + std::to_string(threads) + "\n"));
      EXPECT_THAT(arguments, HasSubstr("--rank\n" + rank + "\n--world-size\n3\n--group\nrun-"));
    }
  }
}

TEST_F(LaunchTest, EveryPartitionerHostNeedsProgram) {
  fs::remove(root_ / "bin/espalier-partitioner");
  LaunchOptions options = Options();
  options.run.settings.insert(
      options.run.settings.end(),
      {"partitioner.replicas=2", "graph.source.uri=s3://bucket/graph", "graph.source.format=NPY",
       "graph.partitions.uri=s3://bucket/parts", "graph.partitions.algorithm=Random", "graph.partitions.balance=[]",
       "graph.preprocess.normalizeFeatures=None"});
  EXPECT_THAT(LaunchQuietly(options).error, HasSubstr("127.0.0.1 has no espalier-partitioner"));
}

TEST_F(LaunchTest, PassesChosenEnvironmentToHosts) {
  LaunchOptions options = Options();
  options.fleet.environment = {{"AWS_REGION", "eu-north-1"}};
  ASSERT_EQ(LaunchQuietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ReadArguments("trainer-0"), HasSubstr("AWS_REGION=eu-north-1\n"));
}

TEST_F(LaunchTest, CountsAreForEachHost) {
  LaunchOptions options = Options();
  options.servers_per_host = 3;
  options.trainers_per_host = 1;
  options.fleet.server_threads = 7;
  ASSERT_EQ(LaunchQuietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ReadArguments("server-2"), HasSubstr("--threads\n7\n"));
  EXPECT_EQ(run::ServerThreads(16, 3), 5u) << "a share of the host's processors, where nothing is said";
  EXPECT_EQ(run::ServerThreads(1, 3), 2u);
  EXPECT_THAT(ReadArguments("trainer-0"), HasSubstr("--world-size\n1\n"));
}

TEST_F(LaunchTest, ReplicasAreOnHostsOfTheirOwn) {
  for (const size_t hosts : {2, 3}) {
    for (uint32_t partition = 0; partition < 6; ++partition) {
      EXPECT_EQ(FindServerHost(partition, 0, hosts), partition % hosts);
      EXPECT_NE(FindServerHost(partition, 0, hosts), FindServerHost(partition, 1, hosts));
    }
  }
  EXPECT_EQ(FindServerHost(0, 2, 2), 0u);  // there is no third host
  LaunchOptions options = Options();
  options.run.settings.push_back("servers.replicasPerPartition=2");
  ASSERT_EQ(LaunchQuietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ReadArguments("server-3"), HasSubstr("--partition\n1\n"));
  EXPECT_THAT(ReadArguments("trainer-0"),
              HasSubstr("--servers\n127.0.0.1:10|127.0.0.1:12,127.0.0.1:11|127.0.0.1:13\n"));
}

TEST_F(LaunchTest, ProcessesOfAServerAreOnItsHost) {
  LaunchOptions options = Options();
  options.run.settings.push_back("servers.containersPerPod=2");
  options.run.settings.push_back("servers.replicasPerPartition=2");
  ASSERT_EQ(LaunchQuietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ReadArguments("server-7"), HasSubstr("--partition\n1\n"));
  EXPECT_THAT(ReadArguments("trainer-0"), HasSubstr("--servers\n127.0.0.1:10|127.0.0.1:12|127.0.0.1:14|127.0.0.1:16,"
                                                    "127.0.0.1:11|127.0.0.1:13|127.0.0.1:15|127.0.0.1:17\n"));
}

TEST_F(LaunchTest, AProgramRunsInTheHostsWorkspace) {
  fs::create_directories(root_ / "work/mine");
  Write("work/mine/train", "#!/bin/sh\n(pwd; env; echo \"$1\") > mine/told.$ESPALIER_RANK\n");
  fs::permissions(root_ / "work/mine/train", fs::perms::owner_all);
  LaunchOptions options = Options();
  options.fleet.workspace = root_ / "work";
  options.fleet.environment = {{"FLAVOUR", "sweet and sour"}};
  options.run.ready_deadline = std::chrono::seconds(30);  // does not apply to programs
  options.run.roles.program = {"mine/train", "two words"};
  const run::RunOutcome outcome = LaunchQuietly(options);
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(Read("work/mine/told.1"),
              AllOf(HasSubstr((root_ / "work").string() + "\n"), HasSubstr("\ntwo words\n"), HasSubstr("TLS_JOB="),
                    HasSubstr("ESPALIER_SERVERS=127.0.0.1:10,127.0.0.1:11\n"), HasSubstr("FLAVOUR=sweet and sour\n"),
                    HasSubstr("MASTER_ADDR=127."), HasSubstr("MASTER_PORT="), HasSubstr("\nLOCAL_RANK=1\n")));
  EXPECT_THAT(outcome.result_json, HasSubstr("\"two words\""));
}

TEST_F(LaunchTest, NamesProgramMissingOnHost) {
  LaunchOptions options = Options();
  options.run.roles.program = {"mine/train"};
  const run::RunOutcome outcome = LaunchQuietly(options);
  EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(outcome.error, HasSubstr("the program " + (root_ / "out/mine/train").string()));
}

TEST_F(LaunchTest, RefusesOtherVersion) {
  Write("bin/version", "0.9");
  const run::RunOutcome outcome = LaunchQuietly();
  EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(outcome.error, HasSubstr("127.0.0.1 has version 0.9"));
}

TEST_F(LaunchTest, NamesHostWithoutTrainer) {
  ASSERT_EQ(LaunchQuietly().code, ExitCode::kDone);
  const std::string result = Read("out/result.json");
  for (const std::string program : {"espalier-trainer-process", "espalier-trainer"}) {
    fs::remove(root_ / "bin" / program);
    const run::RunOutcome outcome = LaunchQuietly();
    EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
    EXPECT_THAT(outcome.error, HasSubstr("127.0.0.1 has no " + program + " in "));
    EXPECT_EQ(Read("out/result.json"), result) << "nothing goes for a run that cannot be";
  }
}

TEST_F(LaunchTest, SeveralHostsRefuseLoopbackAddresses) {
  Write("hosts", "127.0.0.1\n127.0.0.2\n");
  EXPECT_THAT(LaunchQuietly().error, HasSubstr("which the other hosts cannot reach"));
}

TEST_F(LaunchTest, InvalidDocumentConnectsToNoHost) {
  LaunchOptions options = Options();
  options.run.settings = {"training.epochs=many"};
  SetSshScript("touch " + (root_ / "called").string() + "\n");
  EXPECT_EQ(LaunchQuietly(options).code, ExitCode::kBadDocument);
  EXPECT_FALSE(fs::exists(root_ / "called"));
}

TEST_F(LaunchTest, CopiesFolderAndKeepsExistingFiles) {
  fs::create_directories(root_ / "code/deep");
  Write("code/deep/a.txt", "alpha");
  Write("code/empty", "");
  Write("code/large", std::string((4 << 20) + 5, 'x'));
  ASSERT_EQ(CopyQuietly(root_ / "code").code, ExitCode::kDone);
  EXPECT_EQ(Read("work/code/deep/a.txt"), "alpha");
  EXPECT_TRUE(fs::exists(root_ / "work/code/empty"));
  EXPECT_EQ(Read("work/code/large").size(), (4u << 20) + 5);

  const auto written = fs::last_write_time(root_ / "work/code/large");
  Write("code/deep/a.txt", "omega");  // the same size as before
  ASSERT_EQ(CopyQuietly(root_ / "code/").code, ExitCode::kDone);
  EXPECT_EQ(Read("work/code/deep/a.txt"), "omega");
  EXPECT_EQ(fs::last_write_time(root_ / "work/code/large"), written);
}

TEST_F(LaunchTest, ResumesInterruptedCopyWithValidBlocks) {
  fs::create_directories(root_ / "code");
  fs::create_directories(root_ / "work/code");
  const std::string text(9 << 20, 'y');
  Write("code/large", text);
  std::string begun = text.substr(0, 8 << 20);
  begun[5 << 20] = 'z';
  Write("work/code/large.espalier-part", begun);
  ASSERT_EQ(CopyQuietly(root_ / "code").code, ExitCode::kDone);
  EXPECT_EQ(Read("work/code/large"), text);
  EXPECT_FALSE(fs::exists(root_ / "work/code/large.espalier-part"));
}

TEST_F(LaunchTest, NamesFilesThatCannotBeCopied) {
  EXPECT_EQ(CopyQuietly(root_ / "none").code, ExitCode::kBadInput);
  fs::create_directories(root_ / "code");
  fs::create_directory_symlink("/", root_ / "code/root");
  EXPECT_THAT(CopyQuietly(root_ / "code").error, HasSubstr("code/root is a link to a folder"));
  fs::remove(root_ / "code/root");
  Write("code/\xff", "a");
  EXPECT_THAT(CopyQuietly(root_ / "code").error, HasSubstr("a name that is not UTF-8"));
  fs::remove(root_ / "code/\xff");
  Write("code/a", "a");
  Write("work", "in the way");
  EXPECT_THAT(CopyQuietly(root_ / "code").error, HasSubstr("on 127.0.0.1: making folder "));
}

}  // namespace
}  // namespace espalier::launch
