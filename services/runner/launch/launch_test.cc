// Tests launches with fake role binaries and a script instead of ssh, which runs the host's command on this machine.
// tests/scenarios/launch.py uses the real ssh between real hosts.
#include "services/runner/launch/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "services/base/parallel.h"
#include "services/job/testing/example_job.h"
#include "services/rpc/address.h"
#include "services/runner/launch/partition_copy.h"
#include "services/telemetry/listen_socket.h"
#include "services/telemetry/process.h"

namespace espalier::launch {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteText(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// One host, 127.0.0.1, and a job with 2 partitions, 2 trainers and 1 sampler.
class LaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / (std::string("espalier-launch-") + info->name() + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "bin");
    WriteText(root_ / "job.yaml", job::kExampleJob);
    WriteText(root_ / "hosts", "127.0.0.1 0\n");
    WriteText(root_ / "bin/version", "1");
    for (const char* name : {"espalier-partitioner", "espalier-graph-server", "espalier-sampler", "espalier-trainer",
                             "espalier-trainer-process"}) {
      fs::create_symlink(ESPALIER_FAKE_ROLE, root_ / "bin" / name);
    }
    fs::create_symlink(ESPALIER_FAKE_HOST, root_ / "bin/espalier");
    SetSshScript("for word; do :; done\necho 'You have mail.'\nexec sh -c \"$word\"\n");
    telemetry::StopSignal::Install().ResetForTesting();
  }
  void TearDown() override { fs::remove_all(root_); }

  void SetSshScript(const std::string& script) const {
    WriteText(root_ / "ssh", "#!/bin/sh\n" + script);
    fs::permissions(root_ / "ssh", fs::perms::owner_all);
  }
  void Let(const std::string& behavior) const {
    std::ofstream(root_ / "bin/behavior", std::ios::app) << behavior << "\n";
  }

  ConnectOptions Connection() const {
    ConnectOptions connect;
    connect.hosts_file = root_ / "hosts";
    connect.session.ssh.program = root_ / "ssh";
    connect.session.program = root_ / "bin/espalier";
    connect.session.version = "1";
    return connect;
  }
  LaunchOptions Options() const {
    LaunchOptions options;
    options.connect = Connection();
    options.run.job_file = root_ / "job.yaml";
    options.run.settings = {"samplers.replicas=1", "runPolicy.backoffLimit=2"};
    options.run.output_folder = root_ / "out";
    options.run.roles.program_folder = root_ / "bin";
    options.run.ready_deadline = std::chrono::seconds(60);
    options.run.stop_grace = std::chrono::seconds(60);
    return options;
  }
  static run::RunOutcome Quietly(const LaunchOptions& options) {
    terminal::Progress progress(terminal::ProgressStyle::kQuiet, stderr);
    return Launch(options, progress);
  }
  run::RunOutcome Quietly() const { return Quietly(Options()); }
  run::RunOutcome CopyQuietly(const std::string& folder) const {
    terminal::Progress progress(terminal::ProgressStyle::kQuiet, stderr);
    return Copy({.connect = Connection(), .workspace = root_ / "work", .partitions = {}, .folders = {folder}},
                progress);
  }
  std::string ArgumentsOf(const std::string& child) const {
    return ReadText(root_ / "out/hosts/0/run" / (child + ".args"));
  }
  // Expects that every process of the host that was ready ends within `patience`.
  void ExpectProcessesEnd(std::chrono::milliseconds patience) const {
    for (const char* child : {"server-0", "server-1", "sampler-0", "trainer-0", "trainer-1"}) {
      const auto ready = telemetry::ReadReadyFile(root_ / "out/hosts/0/run" / (std::string(child) + ".json"));
      ASSERT_TRUE(ready.ok()) << ready.status().ToString();
      const auto process = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(ready->pid), 0));
      if (process < 0) continue;  // has ended and was reaped
      pollfd ended{process, POLLIN, 0};
      EXPECT_EQ(poll(&ended, 1, static_cast<int>(patience.count())), 1) << child << " still runs";
      close(process);
    }
  }

  fs::path root_;
};

TEST_F(LaunchTest, RunsEveryRoleOnTheHostAndThePartitionerHere) {
  LaunchOptions options = Options();
  options.run.settings.push_back("trainers.featureCache={memory: 1Mi, sharedMemory: 3Mi}");
  const run::RunOutcome outcome = Quietly(options);
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(outcome.result_json, HasSubstr("\"testAccuracy\": 0.8125"));
  EXPECT_THAT(ArgumentsOf("trainer-1"), HasSubstr(" of 3145728 bytes\n")) << "the shared memory of the host";
  EXPECT_THAT(ArgumentsOf("server-1"), HasSubstr("--partitions\n" + (root_ / "out/partitions/k").string() + "\n"));
  EXPECT_THAT(ArgumentsOf("trainer-1"), HasSubstr("--job\n" + (root_ / "out/hosts/0/job.json").string() + "\n"));
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
    const run::RunOutcome outcome = Quietly(options);
    ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
    EXPECT_THAT(ReadText(root_ / "out/run/partitioner.args"), HasSubstr("--rank\n0\n--world-size\n3\n"));
    const int threads = std::max(1, AvailableProcessors() / (places.on_hosts ? 2 : 3));
    for (const std::string rank : {"1", "2"}) {
      const std::string name = "partitioner-" + rank;
      EXPECT_EQ(fs::exists(root_ / "out/run" / (name + ".args")), !places.on_hosts) << name;
      const std::string arguments =
          places.on_hosts ? ArgumentsOf(name) : ReadText(root_ / "out/run" / (name + ".args"));
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
  EXPECT_THAT(Quietly(options).error, HasSubstr("127.0.0.1 has no espalier-partitioner"));
}

TEST_F(LaunchTest, ServerThatFailsOnHostRestartsAtSameAddress) {
  Let("server-1 once:signal 9");
  Let("trainer-0 await-server-1 2");
  const run::RunOutcome outcome = Quietly();
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(ArgumentsOf("server-1"), HasSubstr("--listen\n127.0.0.1:11\n"));
}

TEST_F(LaunchTest, TrainersThatFailOnHostResumeAsNewIncarnation) {
  Let("trainer-0 once:exit 74");
  Let("trainer-1 once:signal 9");
  const run::RunOutcome outcome = Quietly();
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(ArgumentsOf("trainer-1"), HasSubstr("--incarnation\n2\n"));
}

TEST_F(LaunchTest, ErrorsAndLogsComeFromHost) {
  Let("sampler-0 exit 65");
  Let("trainer-0 hang 0");
  EXPECT_THAT(Quietly().error, AllOf(HasSubstr("sampler-0 ended with exit code 65"), HasSubstr("this is the end")));
  EXPECT_THAT(ReadText(root_ / "out/logs/sampler-0.log"), HasSubstr("this is the end"));
}

TEST_F(LaunchTest, PassesChosenEnvironmentToHosts) {
  LaunchOptions options = Options();
  options.fleet.environment = {{"AWS_REGION", "eu-north-1"}};
  ASSERT_EQ(Quietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ArgumentsOf("trainer-0"), HasSubstr("AWS_REGION=eu-north-1\n"));
}

TEST_F(LaunchTest, CountsAreForEachHost) {
  LaunchOptions options = Options();
  options.servers_per_host = 3;
  options.trainers_per_host = 1;
  options.fleet.server_threads = 7;
  ASSERT_EQ(Quietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ArgumentsOf("server-2"), HasSubstr("--threads\n7\n"));
  EXPECT_EQ(run::ServerThreads(16, 3), 5u) << "a share of the host's processors, where nothing is said";
  EXPECT_EQ(run::ServerThreads(1, 3), 2u);
  EXPECT_THAT(ArgumentsOf("trainer-0"), HasSubstr("--world-size\n1\n"));
}

TEST_F(LaunchTest, ReplicasAreOnHostsOfTheirOwn) {
  for (const size_t hosts : {2, 3}) {
    for (uint32_t partition = 0; partition < 6; ++partition) {
      EXPECT_EQ(HostOfServer(partition, 0, hosts), partition % hosts);
      EXPECT_NE(HostOfServer(partition, 0, hosts), HostOfServer(partition, 1, hosts));
    }
  }
  EXPECT_EQ(HostOfServer(0, 2, 2), 0u);  // there is no third host
  LaunchOptions options = Options();
  options.run.settings.push_back("servers.replicasPerPartition=2");
  ASSERT_EQ(Quietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ArgumentsOf("server-3"), HasSubstr("--partition\n1\n"));
  EXPECT_THAT(ArgumentsOf("trainer-0"), HasSubstr("--servers\n127.0.0.1:10|127.0.0.1:12,127.0.0.1:11|127.0.0.1:13\n"));
}

TEST_F(LaunchTest, ProcessesOfAServerAreOnItsHost) {
  LaunchOptions options = Options();
  options.run.settings.push_back("servers.containersPerPod=2");
  options.run.settings.push_back("servers.replicasPerPartition=2");
  ASSERT_EQ(Quietly(options).code, ExitCode::kDone);
  EXPECT_THAT(ArgumentsOf("server-7"), HasSubstr("--partition\n1\n"));
  EXPECT_THAT(ArgumentsOf("trainer-0"), HasSubstr("--servers\n127.0.0.1:10|127.0.0.1:12|127.0.0.1:14|127.0.0.1:16,"
                                                  "127.0.0.1:11|127.0.0.1:13|127.0.0.1:15|127.0.0.1:17\n"));
}

TEST_F(LaunchTest, AProgramRunsInTheHostsWorkspace) {
  fs::create_directories(root_ / "work/mine");
  WriteText(root_ / "work/mine/train", "#!/bin/sh\n(pwd; env; echo \"$1\") > mine/told.$ESPALIER_RANK\n");
  fs::permissions(root_ / "work/mine/train", fs::perms::owner_all);
  LaunchOptions options = Options();
  options.fleet.workspace = root_ / "work";
  options.fleet.environment = {{"FLAVOUR", "sweet and sour"}};
  options.run.ready_deadline = std::chrono::seconds(30);  // does not apply to programs
  options.run.roles.program = {"mine/train", "two words"};
  const run::RunOutcome outcome = Quietly(options);
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(ReadText(root_ / "work/mine/told.1"),
              AllOf(HasSubstr((root_ / "work").string() + "\n"), HasSubstr("\ntwo words\n"), HasSubstr("TLS_JOB="),
                    HasSubstr("ESPALIER_SERVERS=127.0.0.1:10,127.0.0.1:11\n"), HasSubstr("FLAVOUR=sweet and sour\n"),
                    HasSubstr("MASTER_ADDR=127."), HasSubstr("MASTER_PORT="), HasSubstr("\nLOCAL_RANK=1\n")));
  EXPECT_THAT(outcome.result_json, HasSubstr("\"two words\""));
}

TEST_F(LaunchTest, NamesProgramMissingOnHost) {
  LaunchOptions options = Options();
  options.run.roles.program = {"mine/train"};
  const run::RunOutcome outcome = Quietly(options);
  EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(outcome.error, HasSubstr("the program " + (root_ / "out/mine/train").string()));
}

TEST_F(LaunchTest, AHostWhoseProcessDiesEndsTheLaunch) {
  Let("trainer-1 signal-run 9");  // kills its parent, the agent on the host
  Let("trainer-0 hang 0");
  const run::RunOutcome outcome = Quietly();
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  EXPECT_THAT(outcome.error, HasSubstr("the connection to 127.0.0.1 ended"));
  ExpectProcessesEnd(std::chrono::minutes(1));  // the kernel kills them asynchronously
}

TEST_F(LaunchTest, StoppedHostEndsItsProcessesInOrder) {
  Let("trainer-1 signal-run 15");
  Let("trainer-0 hang 0");
  const run::RunOutcome outcome = Quietly();
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  ExpectProcessesEnd(std::chrono::milliseconds(0));
  EXPECT_THAT(ReadText(root_ / "out/hosts/0/run/stops"),
              AnyOf("trainer-0\ntrainer-1\nsampler-0\nserver-0\nserver-1\n",
                    "trainer-0\ntrainer-1\nsampler-0\nserver-1\nserver-0\n",
                    "trainer-1\ntrainer-0\nsampler-0\nserver-0\nserver-1\n",
                    "trainer-1\ntrainer-0\nsampler-0\nserver-1\nserver-0\n"));
}

// ssh's keepalives do not detect this, because the connection is alive.
TEST_F(LaunchTest, AHostWhoseProcessIsStoppedEndsTheLaunch) {
  Let("trainer-1 signal-run 19");
  Let("trainer-0 hang 0");
  LaunchOptions options = Options();
  options.fleet.lost = std::chrono::seconds(3);
  const run::RunOutcome outcome = Quietly(options);
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  EXPECT_THAT(outcome.error, HasSubstr("127.0.0.1: no message for 3 s"));
}

TEST_F(LaunchTest, TakenPortIsReportedAtOnce) {
  auto taken = telemetry::ListenOn("127.0.0.1:0");
  ASSERT_TRUE(taken.ok());
  WriteText(root_ / "hosts", "127.0.0.1 " + std::to_string(rpc::ParseHostPort(taken->address)->port) + "\n");
  std::FILE* shown = std::tmpfile();
  terminal::Progress progress(terminal::ProgressStyle::kLines, shown);
  const run::RunOutcome outcome = Launch(Options(), progress);
  close(taken->descriptor);
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  EXPECT_THAT(outcome.error, HasSubstr("is taken by process " + std::to_string(getpid())));
  std::rewind(shown);
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), shown));
  std::fclose(shown);
  EXPECT_THAT(text, testing::Not(HasSubstr("did not end after SIGTERM")));
}

// Blocks until another process has opened and closed the file.
void AwaitClosing(int watch) {
  pollfd polled{watch, POLLIN, 0};
  ASSERT_EQ(poll(&polled, 1, 60'000), 1);
}

TEST_F(LaunchTest, WaitsForEarlierLaunchThatIsStillEnding) {
  auto earlier = run::RunFolder::Open(root_ / "out/hosts/0");
  ASSERT_TRUE(earlier.ok());
  const int watch = inotify_init1(IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(watch, (root_ / "out/hosts/0/.lock").c_str(), IN_CLOSE), 0);
  std::thread ending([&] {
    AwaitClosing(watch);  // the host has tried to lock the folder
    const run::RunFolder ended = *std::move(earlier);
  });
  const run::RunOutcome outcome = Quietly();
  ending.join();
  close(watch);
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
}

// The launcher waits for one host, and another host would end if it received no message meanwhile.
TEST_F(LaunchTest, HostsReceiveHeartbeatsDuringWait) {
  const telemetry::StopSignal& stop = telemetry::StopSignal::Install();
  const Deadline patience = Deadline::After(std::chrono::seconds(60));
  auto slow = HostSession::Open({"127.0.0.1", 0}, Connection().session);
  auto waiting = HostSession::Open({"127.0.0.1", 0}, Connection().session);
  ASSERT_TRUE(slow.ok() && waiting.ok());
  Heartbeat heartbeat({slow->get(), waiting->get()}, std::chrono::milliseconds(50));
  for (const auto& session : {slow->get(), waiting->get()}) {
    ASSERT_TRUE(session->AwaitHello(stop, patience, heartbeat).ok());
  }
  ASSERT_TRUE(
      (*waiting)
          ->Send({{"do", "begin"}, {"folder", (root_ / "work").string()}, {"graceSeconds", 1}, {"lostSeconds", 2}})
          .ok());
  ASSERT_TRUE((*waiting)->Await("begun", stop, patience, heartbeat).ok());
  const auto never = (*slow)->Await("begun", stop, Deadline::After(std::chrono::seconds(4)), heartbeat);
  EXPECT_EQ(never.status().code(), StatusCode::kDeadlineExceeded);
  ASSERT_TRUE((*waiting)->Send({{"do", "sees"}, {"path", "/nonexistent"}}).ok());
  Heartbeat alone({waiting->get()});
  EXPECT_TRUE((*waiting)->Await("seen", stop, patience, alone).ok());
}

TEST_F(LaunchTest, AHeartbeatEndsWithTheTimeOfTheRun) {
  const telemetry::StopSignal& stop = telemetry::StopSignal::Install();
  const Deadline patience = Deadline::After(std::chrono::minutes(10));
  auto session = HostSession::Open({"127.0.0.1", 0}, Connection().session);
  ASSERT_TRUE(session.ok());
  Heartbeat over({session->get()}, kPingPause, Deadline::After(std::chrono::seconds(0)));
  EXPECT_EQ((*session)->Await("begun", stop, patience, over).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(patience.HasPassed());
}

TEST_F(LaunchTest, EscapesTextOfHosts) {
  const std::string head = R"({"is":"failed","code":14,"message":"red \u001b[31m"})";
  std::string lengths(8, '\0');
  lengths[0] = static_cast<char>(head.size());
  WriteText(root_ / "said", "espalier host 1\n" + lengths + head);
  SetSshScript("cat " + (root_ / "said").string() + "; exec sleep 100\n");
  EXPECT_THAT(Quietly().error, HasSubstr("on 127.0.0.1: red  [31m"));
}

TEST_F(LaunchTest, UnexpectedMessagesEndConnection) {
  const std::string head = R"({"is":"log","child":"trainer-0"})";
  std::string lengths(8, '\0');
  lengths[0] = static_cast<char>(head.size());
  std::string text = "espalier host 1\n";
  for (int i = 0; i < 100; ++i) text += lengths + head;
  WriteText(root_ / "said", text);
  SetSshScript("cat " + (root_ / "said").string() + "; exec sleep 100\n");
  EXPECT_THAT(Quietly().error, HasSubstr("too many unexpected messages"));
}

TEST_F(LaunchTest, ReportsHostErrorsBeforeStart) {
  const auto refusal = [this](const std::string& script) {
    SetSshScript(script);
    return Quietly();
  };
  run::RunOutcome outcome = refusal("echo 'me@h: Permission denied (publickey).' >&2; exit 255\n");
  EXPECT_EQ(outcome.code, ExitCode::kBadCredentials);
  EXPECT_THAT(outcome.error, HasSubstr("Permission denied"));
  outcome = refusal("exit 127\n");
  EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(outcome.error, HasSubstr("--bin"));
  outcome = refusal("echo 'connect: No route to host' >&2; exit 255\n");
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  EXPECT_FALSE(fs::exists(root_ / "out"));
}

TEST_F(LaunchTest, ReportsSshErrorIfSigchldIsIgnored) {
  SetSshScript("echo 'me@h: Permission denied (publickey).' >&2; exit 255\n");
  signal(SIGCHLD, SIG_IGN);  // may be inherited from a parent process
  const run::RunOutcome outcome = Quietly();
  signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(outcome.code, ExitCode::kBadCredentials);
  EXPECT_THAT(outcome.error, HasSubstr("Permission denied"));
}

TEST_F(LaunchTest, GarbageEndsConnection) {
  SetSshScript("printf 'espalier host 1\\n\\377\\377\\377\\377\\377\\377\\377\\377'; exec sleep 100\n");
  EXPECT_THAT(Quietly().error, HasSubstr("a message that exceeds the size limit"));
}

TEST_F(LaunchTest, RefusesOtherVersion) {
  WriteText(root_ / "bin/version", "0.9");
  const run::RunOutcome outcome = Quietly();
  EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(outcome.error, HasSubstr("127.0.0.1 has version 0.9"));
}

TEST_F(LaunchTest, NamesHostWithoutTrainer) {
  ASSERT_EQ(Quietly().code, ExitCode::kDone);
  const std::string result = ReadText(root_ / "out/result.json");
  for (const std::string program : {"espalier-trainer-process", "espalier-trainer"}) {
    fs::remove(root_ / "bin" / program);
    const run::RunOutcome outcome = Quietly();
    EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
    EXPECT_THAT(outcome.error, HasSubstr("127.0.0.1 has no " + program + " in "));
    EXPECT_EQ(ReadText(root_ / "out/result.json"), result) << "nothing goes for a run that cannot be";
  }
}

TEST_F(LaunchTest, SeveralHostsRefuseLoopbackAddresses) {
  WriteText(root_ / "hosts", "127.0.0.1\n127.0.0.2\n");
  EXPECT_THAT(Quietly().error, HasSubstr("which the other hosts cannot reach"));
}

TEST_F(LaunchTest, InvalidDocumentConnectsToNoHost) {
  LaunchOptions options = Options();
  options.run.settings = {"training.epochs=many"};
  SetSshScript("touch " + (root_ / "called").string() + "\n");
  EXPECT_EQ(Quietly(options).code, ExitCode::kBadDocument);
  EXPECT_FALSE(fs::exists(root_ / "called"));
}

TEST_F(LaunchTest, CopiesFolderAndKeepsExistingFiles) {
  fs::create_directories(root_ / "code/deep");
  WriteText(root_ / "code/deep/a.txt", "alpha");
  WriteText(root_ / "code/empty", "");
  WriteText(root_ / "code/large", std::string((4 << 20) + 5, 'x'));
  ASSERT_EQ(CopyQuietly(root_ / "code").code, ExitCode::kDone);
  EXPECT_EQ(ReadText(root_ / "work/code/deep/a.txt"), "alpha");
  EXPECT_TRUE(fs::exists(root_ / "work/code/empty"));
  EXPECT_EQ(ReadText(root_ / "work/code/large").size(), (4u << 20) + 5);

  const auto written = fs::last_write_time(root_ / "work/code/large");
  WriteText(root_ / "code/deep/a.txt", "omega");  // the same size as before
  ASSERT_EQ(CopyQuietly(root_ / "code/").code, ExitCode::kDone);
  EXPECT_EQ(ReadText(root_ / "work/code/deep/a.txt"), "omega");
  EXPECT_EQ(fs::last_write_time(root_ / "work/code/large"), written);
}

TEST_F(LaunchTest, ResumesInterruptedCopyWithValidBlocks) {
  fs::create_directories(root_ / "code");
  fs::create_directories(root_ / "work/code");
  const std::string text(9 << 20, 'y');
  WriteText(root_ / "code/large", text);
  std::string begun = text.substr(0, 8 << 20);
  begun[5 << 20] = 'z';
  WriteText(root_ / "work/code/large.espalier-part", begun);
  ASSERT_EQ(CopyQuietly(root_ / "code").code, ExitCode::kDone);
  EXPECT_EQ(ReadText(root_ / "work/code/large"), text);
  EXPECT_FALSE(fs::exists(root_ / "work/code/large.espalier-part"));
}

TEST_F(LaunchTest, NamesFilesThatCannotBeCopied) {
  EXPECT_EQ(CopyQuietly(root_ / "none").code, ExitCode::kBadInput);
  fs::create_directories(root_ / "code");
  fs::create_directory_symlink("/", root_ / "code/root");
  EXPECT_THAT(CopyQuietly(root_ / "code").error, HasSubstr("code/root is a link to a folder"));
  fs::remove(root_ / "code/root");
  WriteText(root_ / "code/\xff", "a");
  EXPECT_THAT(CopyQuietly(root_ / "code").error, HasSubstr("a name that is not UTF-8"));
  fs::remove(root_ / "code/\xff");
  WriteText(root_ / "code/a", "a");
  WriteText(root_ / "work", "in the way");
  EXPECT_THAT(CopyQuietly(root_ / "code").error, HasSubstr("on 127.0.0.1: making the folder of "));
}

}  // namespace
}  // namespace espalier::launch
