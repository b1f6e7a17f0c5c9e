#include "operator/kubectl/view/describe_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kubectl/text/fit.h"
#include "operator/kubectl/text/printable.h"
#include "operator/kubectl/view/testing/golden.h"
#include "operator/kubectl/view/testing/jobs.h"

namespace espalier::ctl::view {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DescribeTextTest, ExplainsAFailure) {
  const api::DistTraining training = testing::Parsed(testing::FailedJobJson());
  Explanation explanation{.training = training};
  explanation.failed = FindFailedPod(training, {testing::Member(testing::OomKilledPodJson())});
  explanation.tails = {{.title = "Last lines of container trainer",
                        .lines = {"epoch 4 loss 0.52", "\x1b[31mallocating 12 GiB"},
                        .problem = ""}};
  explanation.warnings = {*ParseJobEvent(
      testing::EventJson("e", "Pod", "cora-trainer-4-1-x7k2p", "BackOff", "restarting failed container", seconds(95)))};
  const std::string text = DescribeText(explanation, testing::Now());
  testing::ExpectGolden("describe_out_of_memory.txt", text);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(DescribeTextTest, ReportsMissingPod) {
  const api::DistTraining training = testing::Parsed(testing::FailedJobJson());
  EXPECT_THAT(DescribeText({.training = training}, testing::Now()), HasSubstr("cora-trainer-4-1-x7k2p was deleted"));
}

TEST(DescribeTextTest, ReportsHealthyJob) {
  const api::DistTraining training = testing::Parsed(testing::TrainingJobJson());
  testing::ExpectGolden("describe_healthy.txt", DescribeText({.training = training}, testing::Now()));
}

TEST(DescribeTextTest, ShowsTerminationMessageAndLogError) {
  kube::Json pod = testing::OomKilledPodJson();
  pod["status"]["containerStatuses"][0]["state"]["terminated"] = {
      {"exitCode", 65},
      {"reason", "Error"},
      {"message", R"({"reason": "BadInput", "exitCode": 65, "message": "edge 7 names node 99"})"}};
  const api::DistTraining training = testing::Parsed(testing::FailedJobJson());
  Explanation explanation{.training = training};
  explanation.failed = FindFailedPod(training, {testing::Member(pod)});
  explanation.tails = {{.title = "Last lines", .lines = {}, .problem = "the node does not answer"}};
  const std::string text = DescribeText(explanation, testing::Now());
  EXPECT_THAT(text, HasSubstr("container trainer ended with exit code 65 (bad input)\n"));
  EXPECT_THAT(text, HasSubstr("message: edge 7 names node 99\n"));
  EXPECT_THAT(text, HasSubstr("(the node does not answer)"));
}

TEST(DescribeTextTest, ShowsRestarts) {
  const api::DistTraining training = testing::Parsed(testing::FailedJobJson());
  for (const auto& [restarts, text] : {std::pair(1, ", restarted once\n"), std::pair(2, ", restarted 2 times\n")}) {
    kube::Json pod = testing::OomKilledPodJson();
    pod["status"]["containerStatuses"][0]["restartCount"] = restarts;
    Explanation explanation{.training = training};
    explanation.failed = FindFailedPod(training, {testing::Member(pod)});
    EXPECT_THAT(DescribeText(explanation, testing::Now()), HasSubstr(text));
  }
}

// The largest possible explanation.
class WorstCase {
 public:
  WorstCase() : training_(testing::Parsed(Job())) {
    explanation_.failed = FindFailedPod(training_, {testing::Member(Pod())});
    for (const char* title : {"Last lines of container trainer before its last restart", "Last lines"}) {
      LogTail tail{.title = title, .lines = {}, .problem = ""};
      for (int i = 1; i <= 15; ++i) tail.lines.push_back(LogLineText(i));
      explanation_.tails.push_back(tail);
    }
    for (int i = 1; i <= 8; ++i) {
      const std::string message = "warning " + std::to_string(i) + ": " + Words(1000);
      explanation_.warnings.push_back(*ParseJobEvent(
          testing::EventJson("e", "Pod", "cora-trainer-4-1-x7k2p", "FailedScheduling", message, seconds(100 - i))));
    }
  }

  const Explanation& explanation() const { return explanation_; }

  // A log line as a service writes it: the message follows time, process and place.
  static std::string LogLineText(int i) {
    return R"({"time":"2026-01-02T03:04:05.123Z","level":"error","service":"trainer","job":"ml/cora","rank":1,)"
           R"("message":"line )" +
           std::to_string(i) + R"(","error":")" + Words(300) + R"("})";
  }

 private:
  static std::string Words(size_t bytes) {
    std::string words;
    while (words.size() < bytes) words += "größer words ";
    return words;
  }
  static kube::Json Job() {
    kube::Json job = testing::FailedJobJson();
    job["status"]["lastError"]["message"] = Words(1000);
    for (kube::Json& condition : job["status"]["conditions"]) condition["message"] = Words(1000);
    return job;
  }
  static kube::Json Pod() {
    kube::Json pod = testing::OomKilledPodJson();
    pod["status"]["message"] = Words(1000);
    kube::Json& container = pod["status"]["containerStatuses"][0];
    container["restartCount"] = 7;
    container["lastState"] = {{"terminated", {{"exitCode", 3}, {"reason", "Error"}, {"message", Words(1000)}}}};
    container["state"] = {{"waiting", {{"reason", "CrashLoopBackOff"}, {"message", Words(1000)}}}};
    return pod;
  }

  api::DistTraining training_;
  Explanation explanation_{.training = training_};
};

TEST(DescribeTextTest, TheWorstCaseFitsAScreen) {
  const WorstCase worst;
  for (const size_t columns : {40, 80, 132, 240}) {
    const std::vector<std::string> rows = text::SplitLines(DescribeText(worst.explanation(), testing::Now(), columns));
    EXPECT_LE(rows.size(), 50u) << columns;
    for (const std::string& row : rows) EXPECT_LE(text::DisplayWidth(row), columns) << row;
  }
}

TEST(DescribeTextTest, ScreenShowsLastLines) {
  const WorstCase worst;
  const std::string text = DescribeText(worst.explanation(), testing::Now(), 80);
  EXPECT_THAT(text, AllOf(HasSubstr("Failed=True, BackoffLimitExceeded"), HasSubstr("waits: CrashLoopBackOff"),
                          HasSubstr("ended with exit code 3"), HasSubstr("message: größer"),
                          HasSubstr("Last lines of container trainer before its last restart:\n"),
                          HasSubstr("\nLast lines:\n"), HasSubstr("s3://results/cora/cora-11111111/checkpoints\n")));
  EXPECT_THAT(text, AllOf(HasSubstr("line 15"), Not(HasSubstr("line 10")), HasSubstr("warning 8"),
                          Not(HasSubstr("warning 1"))));
}

TEST(DescribeTextTest, WithoutTerminalLinesAreNotCut) {
  const WorstCase worst;
  const std::string text = DescribeText(worst.explanation(), testing::Now());
  for (int i = 1; i <= 15; ++i) EXPECT_THAT(text, HasSubstr("  | " + WorstCase::LogLineText(i) + "\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("warning 1"), HasSubstr("warning 8"), Not(HasSubstr("…"))));
}

}  // namespace
}  // namespace espalier::ctl::view
