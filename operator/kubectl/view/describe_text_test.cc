#include "operator/kubectl/view/describe_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kubectl/view/testing/golden.h"
#include "operator/kubectl/view/testing/jobs.h"

namespace espalier::ctl::view {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DescribeTextTest, ExplainsAFailureOnOneScreen) {
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

TEST(DescribeTextTest, SaysThatThePodIsGone) {
  const api::DistTraining training = testing::Parsed(testing::FailedJobJson());
  EXPECT_THAT(DescribeText({.training = training}, testing::Now()), HasSubstr("cora-trainer-4-1-x7k2p is gone"));
}

TEST(DescribeTextTest, OfAHealthyJobSaysThatNothingIsWrong) {
  const api::DistTraining training = testing::Parsed(testing::TrainingJobJson());
  testing::ExpectGolden("describe_healthy.txt", DescribeText({.training = training}, testing::Now()));
}

TEST(DescribeTextTest, HasTheProcesssOwnWordsAndWhyALogCannotBeRead) {
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
  EXPECT_THAT(text, HasSubstr("it said: edge 7 names node 99\n"));
  EXPECT_THAT(text, HasSubstr("(the node does not answer)"));
}

}  // namespace
}  // namespace espalier::ctl::view
