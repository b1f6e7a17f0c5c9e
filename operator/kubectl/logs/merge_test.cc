#include "operator/kubectl/logs/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "operator/kubectl/logs/testing/fake_pod_logs.h"

namespace espalier::ctl::logs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

LogSource Source(const std::string& pod) { return {{"ml", pod}, "trainer", pod}; }

struct Printed {
  std::vector<std::string> lines;
  std::vector<std::string> problems;

  LogPrinter Printer() {
    return {.line =
                [this](const LogSource& source, const LogLine& line) {
                  lines.push_back(source.label + ": " + line.text);
                  return Status();
                },
            .problem = [this](const LogSource& source, const Status&) { problems.push_back(source.label); }};
  }
};

TEST(PrintMergedTest, PutsLinesOfSeveralPodsInTheOrderOfTime) {
  FakePodLogs logs;
  logs.Write("a", 1, "first");
  logs.Write("a", 4, "fourth");
  logs.Write("b", 2, "second");
  logs.Write("b", 3, "third");
  Printed printed;
  EXPECT_TRUE(PrintMerged(logs, {Source("a"), Source("b")}, {}, printed.Printer(), {}).ok());
  EXPECT_THAT(printed.lines, ElementsAre("a: first", "b: second", "b: third", "a: fourth"));
}

TEST(PrintMergedTest, KeepsAPodsOwnOrderWhereItsClockWasSetBack) {
  FakePodLogs logs;
  logs.Write("a", 5, "one");
  logs.Write("a", 1, "two");
  logs.Write("b", 4, "other");
  logs.Write("b", 6, "last");
  Printed printed;
  EXPECT_TRUE(PrintMerged(logs, {Source("a"), Source("b")}, {}, printed.Printer(), {}).ok());
  EXPECT_THAT(printed.lines, ElementsAre("b: other", "a: one", "a: two", "b: last"));
}

TEST(PrintMergedTest, UnreadableLogIsReportedAndSkipped) {
  FakePodLogs logs;
  logs.Write("a", 1, "here");
  logs.Refuse("b", "waiting to start");
  Printed printed;
  EXPECT_TRUE(PrintMerged(logs, {Source("b"), Source("a"), Source("gone")}, {}, printed.Printer(), {}).ok());
  EXPECT_THAT(printed.lines, ElementsAre("a: here"));
  EXPECT_THAT(printed.problems, ElementsAre("b", "gone"));
}

TEST(PrintMergedTest, FailsIfNoLogIsReadable) {
  FakePodLogs logs;
  Printed printed;
  EXPECT_EQ(PrintMerged(logs, {Source("gone")}, {}, printed.Printer(), {}).code(), StatusCode::kNotFound);
  logs.Restart("empty");
  EXPECT_TRUE(PrintMerged(logs, {Source("empty")}, {}, printed.Printer(), {}).ok());
}

TEST(PrintMergedTest, EndsOnClosedOutputAndOnStop) {
  FakePodLogs logs;
  logs.Write("a", 1, "one");
  Printed printed;
  LogPrinter printer = printed.Printer();
  printer.line = [](const LogSource&, const LogLine&) { return Unavailable("broken pipe"); };
  EXPECT_EQ(PrintMerged(logs, {Source("a")}, {}, printer, {}).code(), StatusCode::kUnavailable);

  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(PrintMerged(logs, {Source("a")}, {}, printed.Printer(), stop.get_token()).code(), StatusCode::kCancelled);
  EXPECT_THAT(printed.lines, IsEmpty());
}

TEST(PrintMergedTest, WaitsForSilentPodsInParallel) {
  FakePodLogs logs;
  const std::vector<LogSource> sources{Source("a"), Source("b"), Source("c")};
  for (const LogSource& source : sources) {
    logs.Write(source.label, 1, "before its node died");
    logs.Silence(source.label);
  }
  Printed printed;
  std::stop_source stop;
  Status status;
  std::jthread merging([&] { status = PrintMerged(logs, sources, {}, printed.Printer(), stop.get_token()); });
  EXPECT_TRUE(logs.AwaitRequests(sources.size()));
  stop.request_stop();
  merging.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace espalier::ctl::logs
