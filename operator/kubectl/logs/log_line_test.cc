#include "operator/kubectl/logs/log_line.h"

#include <gtest/gtest.h>

#include "operator/kubectl/logs/log_position.h"
#include "operator/kubectl/logs/log_request.h"

namespace espalier::ctl::logs {
namespace {

kube::WallTime At(int second, int micros = 0) {
  return *kube::ParseTime("2026-01-02T03:04:00Z") + std::chrono::seconds(second) + std::chrono::microseconds(micros);
}

LogLine Line(int second, const std::string& text) { return {At(second), text}; }

TEST(LogRequestTest, BuildsQuery) {
  LogOptions options;
  options.container = "trainer";
  EXPECT_EQ(LogRequest({"ml", "cora-trainer-1-0-x"}, options).target,
            "/api/v1/namespaces/ml/pods/cora-trainer-1-0-x/log?timestamps=true&container=trainer");
  options.follow = options.previous = true;
  options.tail_lines = 20;
  options.since = At(5, 600000);
  options.limit_bytes = 1000;
  EXPECT_EQ(LogRequest({"ml", "p"}, options).target,
            "/api/v1/namespaces/ml/pods/p/log?timestamps=true&container=trainer&follow=true&previous=true&tailLines=20"
            "&sinceTime=2026-01-02T03%3A04%3A05Z&limitBytes=1000");
}

TEST(LogLineTest, SplitsTimeAndText) {
  EXPECT_EQ(ParseLogLine("2026-01-02T03:04:05.000600700Z epoch  1"), (LogLine{At(5, 600), "epoch  1"}));
  EXPECT_EQ(ParseLogLine("2026-01-02T04:04:05+01:00 in another zone"), Line(5, "in another zone"));
  EXPECT_EQ(ParseLogLine("2026-01-02T03:04:05Z "), Line(5, ""));
  EXPECT_EQ(ParseLogLine("2026-01-02T03:04:05Z"), Line(5, ""));
}

TEST(LogLineTest, LinesWithoutTimeAreFromKubelet) {
  EXPECT_EQ(ParseLogLine("unable to retrieve container logs"),
            (LogLine{std::nullopt, "unable to retrieve container logs"}));
  EXPECT_EQ(ParseLogLine(""), (LogLine{std::nullopt, ""}));
}

TEST(LogPositionTest, SkipsPrintedLinesAfterResume) {
  LogPosition position;
  EXPECT_FALSE(position.since().has_value());
  for (const LogLine& line : {Line(1, "a"), Line(2, "b"), Line(2, "c")}) EXPECT_TRUE(position.Accept(line));
  EXPECT_EQ(position.since(), At(2));

  position.Resume();
  EXPECT_FALSE(position.Accept(Line(1, "a")));
  EXPECT_FALSE(position.Accept(Line(2, "b")));
  EXPECT_FALSE(position.Accept(Line(2, "c")));
  EXPECT_TRUE(position.Accept(Line(2, "of the same moment")));
  EXPECT_TRUE(position.Accept(Line(3, "d")));
}

TEST(LogPositionTest, SecondResumeCountsLinesAfterFirst) {
  LogPosition position;
  EXPECT_TRUE(position.Accept(Line(2, "a")));
  position.Resume();
  EXPECT_FALSE(position.Accept(Line(2, "a")));
  EXPECT_TRUE(position.Accept(Line(2, "b")));
  position.Resume();
  EXPECT_FALSE(position.Accept(Line(2, "a")));
  EXPECT_FALSE(position.Accept(Line(2, "b")));
  EXPECT_TRUE(position.Accept(Line(2, "c")));
}

TEST(LogPositionTest, ResumeAtStartSkipsNothing) {
  LogPosition position;
  position.Resume();
  EXPECT_TRUE(position.Accept(Line(1, "a")));
}

TEST(LogPositionTest, ClockSetBackSkipsNothing) {
  LogPosition position;
  EXPECT_TRUE(position.Accept(Line(9, "a")));
  EXPECT_TRUE(position.Accept(Line(1, "b")));
  EXPECT_TRUE(position.Accept({std::nullopt, "the kubelet's"}));
}

}  // namespace
}  // namespace espalier::ctl::logs
