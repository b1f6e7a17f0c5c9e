#include "services/process/program_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "services/base/descriptor.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::process {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

const Deadline kSoon = Deadline::After(std::chrono::minutes(1));

ProgramCall Shell(const std::string& script) {
  return {.command = "sh", .arguments = {"-c", script}, .environment = {{"PATH", "/usr/bin:/bin"}, {"A", "b c"}}};
}

std::string Output(const ProgramCall& call, Deadline deadline = kSoon) {
  const Result<std::string> output = RunProgram(call, deadline);
  return output.ok() ? *output : output.status().ToString();
}

TEST(ProgramOutputTest, ReturnsOnlyOutputOfProgram) {
  setenv("ESPALIER_TEST_SECRET", "hunter2", 1);
  EXPECT_EQ(Output(Shell("echo \"$A\"; echo \"[$ESPALIER_TEST_SECRET]\"; cat; echo lost >&2")), "b c\n[]\n");
}

TEST(ProgramOutputTest, ReportsExitCodeOrSignal) {
  EXPECT_EQ(Output(Shell("echo hunter2; exit 3")), "UNAVAILABLE: running sh: exit code 3");
  EXPECT_EQ(Output(Shell("kill -9 $$")), "UNAVAILABLE: running sh: signal 9");
}

// The program's /dev/null is then opened as descriptor 0.
TEST(ProgramOutputTest, GivesProgramAnInputIfItsOwnIsClosed) {
  const int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(STDIN_FILENO);
  const std::string output = Output(Shell("cat && echo read"));
  if (saved >= 0) {
    dup2(saved, STDIN_FILENO);
    close(saved);
  }
  EXPECT_EQ(output, "read\n");
}

TEST(ProgramOutputTest, SearchesPathOfCall) {
  EXPECT_EQ(Output({.command = "sh", .environment = {{"PATH", ":/nowhere"}}}), "NOT_FOUND: running sh: not in PATH");
  EXPECT_EQ(Output({.command = ""}), "NOT_FOUND: running : not in PATH");
  EXPECT_THAT(Output({.command = "/nowhere/sh"}),
              HasSubstr("NOT_FOUND: running /nowhere/sh: /nowhere/sh: No such file"));
  EXPECT_EQ(Output({.command = "/bin/echo", .arguments = {"a"}}), "a\n");
}

TEST(ProgramOutputTest, BoundsTime) {
  EXPECT_EQ(Output(Shell("sleep 1000"), Deadline::After(milliseconds(50))),
            "DEADLINE_EXCEEDED: running sh: it did not end in time");
  EXPECT_EQ(Output(Shell("trap '' TERM; exec 1>&-; sleep 1000"), Deadline::After(milliseconds(50))),
            "DEADLINE_EXCEEDED: running sh: it did not end in time")
      << "its output has ended, it has not";
}

// A lease on the program's file (fcntl(2)) makes exec wait until it is released, like a file server that does not
// respond.
TEST(ProgramOutputTest, LimitsStartTime) {
  storage::TemporaryFolder folder;
  const std::string path = folder.path() + "/program";
  std::ofstream(path) << "#!/bin/sh\n";
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  const auto before = signal(SIGIO, SIG_IGN);  // sent to the holder of the lease; the default action kills the process
  const Descriptor leased(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (fcntl(leased.get(), F_SETLEASE, F_WRLCK) != 0) GTEST_SKIP() << "no leases on this file system";
  EXPECT_THAT(Output({.command = path}, Deadline::After(milliseconds(50))), HasSubstr("it did not end in time"));
  signal(SIGIO, before);
}

TEST(ProgramOutputTest, EndsOnStop) {
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(RunProgram(Shell("sleep 1000"), kSoon, stop.get_token()).status(), Cancelled("running sh: asked to stop"));
}

TEST(ProgramOutputTest, BoundsOutput) {
  EXPECT_EQ(Output(Shell("yes")), "RESOURCE_EXHAUSTED: running sh: it printed more than 1048576 bytes");
  ProgramCall call = Shell("printf 1234");
  call.max_output_bytes = 4;
  EXPECT_EQ(Output(call), "1234");
}

TEST(ProgramOutputTest, ReadsMoreThanAPipeHolds) {
  EXPECT_EQ(Output(Shell("head -c 500000 /dev/zero")).size(), 500'000u);
}

TEST(ProgramOutputTest, KillsRemainingChildren) {
  const std::string pid_text = Output(Shell("sleep 1000 & echo $!"));
  const auto pid = static_cast<pid_t>(std::atol(pid_text.c_str()));
  ASSERT_GT(pid, 1) << pid_text;
  // It was killed with its group. It may still exist as a zombie until its new parent reaps it.
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  for (;;) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[256] = {};
    if (file.get() < 0 || read(file.get(), text, sizeof(text) - 1) <= 0) break;
    if (std::string(text).find(") Z ") != std::string::npos) break;
    ASSERT_FALSE(kSoon.HasPassed());
  }
}

TEST(ProgramOutputTest, PassesNoDescriptors) {
  const Descriptor leaked(open("/dev/null", O_RDONLY));  // not close-on-exec, like the sockets of cpprestsdk
  ASSERT_GE(leaked.get(), 3);
  EXPECT_EQ(Output(Shell("test -e /proc/self/fd/" + std::to_string(leaked.get()) + " && echo open || echo closed")),
            "closed\n");
}

}  // namespace
}  // namespace espalier::process
