// Tests of launches in which a process, a host or a connection fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "services/base/host_port.h"
#include "services/runner/launch/host_session.h"
#include "services/runner/launch/launch.h"
#include "services/runner/launch/testing/fake_host.h"
#include "services/telemetry/listen_socket.h"
#include "services/telemetry/process.h"

namespace espalier::launch {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class LaunchFailureTest : public FakeHostTest {
 protected:
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
};

TEST_F(LaunchFailureTest, ServerThatFailsOnHostRestartsAtSameAddress) {
  Let("server-1 once:signal 9");
  Let("trainer-0 await-server-1 2");
  const run::RunOutcome outcome = LaunchQuietly();
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(ReadArguments("server-1"), HasSubstr("--listen\n127.0.0.1:11\n"));
}

TEST_F(LaunchFailureTest, TrainersThatFailOnHostResumeAsNewIncarnation) {
  Let("trainer-0 once:exit 74");
  Let("trainer-1 once:signal 9");
  const run::RunOutcome outcome = LaunchQuietly();
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_THAT(ReadArguments("trainer-1"), HasSubstr("--incarnation\n2\n"));
}

TEST_F(LaunchFailureTest, LongErrorsOfSshDoNotKeepItFromEnding) {
  SetSshScript("cat > /dev/null\nhead -c 300000 /dev/zero | tr '\\000' x >&2\nexit 255\n");
  const auto session = HostSession::Open({.name = "127.0.0.1"}, Connection().session);
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  EXPECT_THAT((*session)->GiveUp(Unavailable("the pipe was closed")).message(),
              HasSubstr("ssh to 127.0.0.1 failed: xxxx"));
}

TEST_F(LaunchFailureTest, ErrorsAndLogsComeFromHost) {
  Let("sampler-0 exit 65");
  Let("trainer-0 hang 0");
  EXPECT_THAT(LaunchQuietly().error,
              AllOf(HasSubstr("sampler-0 ended with exit code 65"), HasSubstr("this is the end")));
  EXPECT_THAT(Read("out/logs/sampler-0.log"), HasSubstr("this is the end"));
}

TEST_F(LaunchFailureTest, AHostWhoseProcessDiesEndsTheLaunch) {
  Let("trainer-1 signal-run 9");  // kills its parent, the agent on the host
  Let("trainer-0 hang 0");
  const run::RunOutcome outcome = LaunchQuietly();
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  EXPECT_THAT(outcome.error, HasSubstr("the connection to 127.0.0.1 ended"));
  ExpectProcessesEnd(std::chrono::minutes(1));  // the kernel kills them asynchronously
}

TEST_F(LaunchFailureTest, StoppedHostEndsItsProcessesInOrder) {
  Let("trainer-1 signal-run 15");
  Let("trainer-0 hang 0");
  const run::RunOutcome outcome = LaunchQuietly();
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  ExpectProcessesEnd(std::chrono::milliseconds(0));
  EXPECT_THAT(Read("out/hosts/0/run/stops"), AnyOf("trainer-0\ntrainer-1\nsampler-0\nserver-0\nserver-1\n",
                                                   "trainer-0\ntrainer-1\nsampler-0\nserver-1\nserver-0\n",
                                                   "trainer-1\ntrainer-0\nsampler-0\nserver-0\nserver-1\n",
                                                   "trainer-1\ntrainer-0\nsampler-0\nserver-1\nserver-0\n"));
}

// ssh's keepalives do not detect this, because the connection is alive.
TEST_F(LaunchFailureTest, AHostWhoseProcessIsStoppedEndsTheLaunch) {
  Let("trainer-1 signal-run 19");
  Let("trainer-0 hang 0");
  LaunchOptions options = Options();
  options.fleet.lost_after = std::chrono::seconds(3);
  const run::RunOutcome outcome = LaunchQuietly(options);
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  EXPECT_THAT(outcome.error, HasSubstr("127.0.0.1: no message for 3 s"));
}

TEST_F(LaunchFailureTest, TakenPortIsReportedAtOnce) {
  auto taken = telemetry::ListenOn("127.0.0.1:0");
  ASSERT_TRUE(taken.ok());
  Write("hosts", "127.0.0.1 " + std::to_string(ParseHostPort(taken->address)->port) + "\n");
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

TEST_F(LaunchFailureTest, WaitsForEarlierLaunchThatIsStillEnding) {
  auto earlier = run::RunFolder::Open(root_ / "out/hosts/0");
  ASSERT_TRUE(earlier.ok());
  const int watch = inotify_init1(IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(watch, (root_ / "out/hosts/0/.lock").c_str(), IN_CLOSE), 0);
  std::thread ending([&] {
    AwaitClosing(watch);  // the host has tried to lock the folder
    const run::RunFolder ended = *std::move(earlier);
  });
  const run::RunOutcome outcome = LaunchQuietly();
  ending.join();
  close(watch);
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
}

// The launcher waits for one host, and another host would end if it received no message meanwhile.
TEST_F(LaunchFailureTest, HostsReceiveHeartbeatsDuringWait) {
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

TEST_F(LaunchFailureTest, AHeartbeatEndsWithTheTimeOfTheRun) {
  const telemetry::StopSignal& stop = telemetry::StopSignal::Install();
  const Deadline patience = Deadline::After(std::chrono::minutes(10));
  auto session = HostSession::Open({"127.0.0.1", 0}, Connection().session);
  ASSERT_TRUE(session.ok());
  Heartbeat over({session->get()}, kPingInterval, Deadline::After(std::chrono::seconds(0)));
  EXPECT_EQ((*session)->Await("begun", stop, patience, over).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(patience.HasPassed());
}

TEST_F(LaunchFailureTest, EscapesTextOfHosts) {
  const std::string head = R"({"is":"failed","code":14,"message":"red \u001b[31m"})";
  std::string lengths(8, '\0');
  lengths[0] = static_cast<char>(head.size());
  Write("said", "espalier host 1\n" + lengths + head);
  SetSshScript("cat " + (root_ / "said").string() + "; exec sleep 100\n");
  EXPECT_THAT(LaunchQuietly().error, HasSubstr("on 127.0.0.1: red  [31m"));
}

TEST_F(LaunchFailureTest, UnexpectedMessagesEndConnection) {
  const std::string head = R"({"is":"log","child":"trainer-0"})";
  std::string lengths(8, '\0');
  lengths[0] = static_cast<char>(head.size());
  std::string text = "espalier host 1\n";
  for (int i = 0; i < 100; ++i) text += lengths + head;
  Write("said", text);
  SetSshScript("cat " + (root_ / "said").string() + "; exec sleep 100\n");
  EXPECT_THAT(LaunchQuietly().error, HasSubstr("too many unexpected messages"));
}

TEST_F(LaunchFailureTest, ReportsHostErrorsBeforeStart) {
  const auto refusal = [this](const std::string& script) {
    SetSshScript(script);
    return LaunchQuietly();
  };
  run::RunOutcome outcome = refusal("echo 'me@h: Permission denied (publickey).' >&2; exit 255\n");
  EXPECT_EQ(outcome.code, ExitCode::kBadCredentials);
  EXPECT_THAT(outcome.error, HasSubstr("Permission denied"));
  outcome = refusal("exit 127\n");
  EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(outcome.error, HasSubstr("--bin"));
  outcome = refusal("echo 'connect: No route to host' >&2; exit 255\n");
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(root_ / "out"));
}

TEST_F(LaunchFailureTest, TimeLimitForConnectingNamesFirstHostThatWasNotContacted) {
  LaunchOptions options = Options();
  options.connect.patience = std::chrono::seconds(0);
  const run::RunOutcome outcome = LaunchQuietly(options);
  EXPECT_EQ(outcome.code, ExitCode::kUnavailable);
  EXPECT_EQ(outcome.error, "connecting to the hosts took longer than 0 s: 127.0.0.1 was not contacted");
}

TEST_F(LaunchFailureTest, ReportsSshErrorIfSigchldIsIgnored) {
  SetSshScript("echo 'me@h: Permission denied (publickey).' >&2; exit 255\n");
  signal(SIGCHLD, SIG_IGN);  // may be inherited from a parent process
  const run::RunOutcome outcome = LaunchQuietly();
  signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(outcome.code, ExitCode::kBadCredentials);
  EXPECT_THAT(outcome.error, HasSubstr("Permission denied"));
}

TEST_F(LaunchFailureTest, GarbageEndsConnection) {
  SetSshScript("printf 'espalier host 1\\n\\377\\377\\377\\377\\377\\377\\377\\377'; exec sleep 100\n");
  EXPECT_THAT(LaunchQuietly().error, HasSubstr("a message that exceeds the size limit"));
}

}  // namespace
}  // namespace espalier::launch
