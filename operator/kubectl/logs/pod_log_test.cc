#include "operator/kubectl/logs/pod_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/client/testing/scripted_transport.h"
#include "operator/kubectl/logs/testing/fake_pod_logs.h"

namespace espalier::ctl::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const LogSource kTrainer{{"ml", "t"}, "trainer", "trainer-0", "uid-t"};

// Reads all lines, with "END" at the end of the log.
std::vector<std::string> Read(PodLog& log) {
  std::vector<std::string> texts;
  while (texts.size() < 100) {
    const Result<std::optional<LogLine>> line = log.Next(Deadline::After(std::chrono::seconds(10)), {});
    if (!line.ok()) texts.push_back(line.status().ToString());
    if (!line.ok()) break;
    texts.push_back(line->has_value() ? (**line).text : "END");
    if (!line->has_value()) break;
  }
  return texts;
}

TEST(PodLogTest, ReadsALogToItsEnd) {
  FakePodLogs logs;
  logs.Write("t", 1, "one");
  logs.Write("t", 2, "two");
  PodLog log(logs, kTrainer, {});
  EXPECT_THAT(Read(log), ElementsAre("one", "two", "END"));
}

TEST(PodLogTest, ReturnsUnterminatedLastLine) {
  FakePodLogs logs;
  logs.Write("t", 1, "one");
  logs.WriteUnfinished("t", 2, "terminate called");
  PodLog log(logs, kTrainer, {});
  EXPECT_THAT(Read(log), ElementsAre("one", "terminate called", "END"));
}

TEST(PodLogTest, ContinuesFromEnd) {
  FakePodLogs logs;
  logs.Write("t", 1, "one");
  PodLog log(logs, kTrainer, {});
  EXPECT_THAT(Read(log), ElementsAre("one", "END"));
  logs.Write("t", 1, "two");
  EXPECT_THAT(Read(log), ElementsAre("two", "END"));
}

// A tail is counted from the end: it would omit the beginning of what was written while the connection was broken.
TEST(PodLogTest, ResumesAfterBreakWithoutDuplicates) {
  client::ScriptedTransport transport;
  transport.ThenStream({"2026-01-02T03:00:01Z one", "2026-01-02T03:00:02.5Z two"}, Unavailable("the connection broke"));
  transport.ThenStream({"2026-01-02T03:00:02.1Z before", "2026-01-02T03:00:02.5Z two", "2026-01-02T03:00:03Z three"});
  transport.Then(200, "2026-01-02T03:00:03Z three\n");
  LogOptions options;
  options.tail_lines = 2;
  PodLog log(transport, kTrainer, options);
  EXPECT_THAT(Read(log), ElementsAre("one", "two", "three", "END"));
  EXPECT_THAT(transport.requests()[0].target, HasSubstr("tailLines=2"));
  EXPECT_THAT(transport.requests()[1].target, HasSubstr("sinceTime=2026-01-02T03%3A00%3A02Z"));
  EXPECT_THAT(transport.requests()[1].target, Not(HasSubstr("tailLines")));
}

TEST(PodLogTest, GivesUpAfterThreeBreaksInARow) {
  client::ScriptedTransport transport;
  for (int i = 0; i < 5; ++i) transport.ThenFailStream(Unavailable("connection refused"));
  PodLog log(transport, kTrainer, {});
  EXPECT_EQ(log.Next(Deadline::After(std::chrono::seconds(1)), {}).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(transport.requests().size(), 3u);
}

TEST(PodLogTest, ReportsWhyLogIsMissing) {
  FakePodLogs logs;
  PodLog gone(logs, kTrainer, {});
  EXPECT_EQ(gone.Next(Deadline::After(std::chrono::seconds(1)), {}).status().code(), StatusCode::kNotFound);

  logs.Refuse("t", "container \"trainer\" in pod \"t\" is waiting to start: ContainerCreating");
  PodLog waiting(logs, kTrainer, {});
  const Status status = waiting.Next(Deadline::After(std::chrono::seconds(1)), {}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("log of pod ml/t: container \"trainer\""));
}

TEST(PodLogTest, ReadsTheContainerBeforeTheRestart) {
  FakePodLogs logs;
  logs.Write("t", 1, "before");
  logs.Restart("t");
  logs.Write("t", 2, "after");
  LogOptions options;
  options.previous = true;
  PodLog log(logs, kTrainer, options);
  EXPECT_THAT(Read(log), ElementsAre("before", "END"));
}

TEST(PodLogTest, SilentLogCanBeStopped) {
  FakePodLogs logs;
  logs.Write("t", 1, "one");
  LogOptions options;
  options.follow = true;
  PodLog log(logs, kTrainer, options);
  EXPECT_EQ((**log.Next(Deadline::After(std::chrono::seconds(10)), {})).text, "one");
  EXPECT_EQ(log.Next(Deadline::After(std::chrono::milliseconds(1)), {}).status().code(), StatusCode::kDeadlineExceeded);
  logs.Write("t", 2, "two");
  EXPECT_EQ((**log.Next(Deadline::After(std::chrono::seconds(10)), {})).text, "two");

  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(log.Next(Deadline::After(std::chrono::seconds(10)), stop.get_token()).status().code(),
            StatusCode::kCancelled);
}

TEST(PodLogTest, InvalidPodNameIsNotRequested) {
  client::ScriptedTransport transport;
  PodLog log(transport, {{"ml", "../../secrets"}, "trainer"}, {});
  EXPECT_EQ(log.Next(Deadline::After(std::chrono::seconds(1)), {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(transport.requests(), IsEmpty());
}

}  // namespace
}  // namespace espalier::ctl::logs
