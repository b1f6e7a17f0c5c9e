#include "operator/kubectl/view/status_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kubectl/view/age.h"
#include "operator/kubectl/view/status_json.h"
#include "operator/kubectl/view/testing/golden.h"
#include "operator/kubectl/view/testing/jobs.h"

namespace espalier::ctl::view {
namespace {

using kube::Json;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<JobEvent> Events() {
  return {
      *ParseJobEvent(testing::EventJson("e", "DistTraining", "cora", "Restarting", "trainer 1 ended", seconds(95)))};
}

TEST(StatusTextTest, ShowsJobAsTextAndTables) {
  testing::ExpectGolden("status_training.txt",
                        StatusText(testing::Parsed(testing::TrainingJobJson()), Events(), testing::Now()));
  testing::ExpectGolden("status_failed.txt", StatusText(testing::Parsed(testing::FailedJobJson()), {}, testing::Now()));
}

TEST(StatusTextTest, ShowsJobWithoutStatus) {
  Json object = testing::TrainingJobJson();
  object.erase("status");
  testing::ExpectGolden("status_new.txt", StatusText(testing::Parsed(object), {}, testing::Now()));
}

TEST(StatusTextTest, ShowsScript) {
  Json object = testing::TrainingJobJson();
  const std::string digest(64, 'a');
  object["status"]["script"] = {{"source", "s3://code/train.py"}, {"sha256", digest}};
  EXPECT_THAT(StatusText(testing::Parsed(object), {}, testing::Now()),
              HasSubstr("s3://code/train.py  (SHA-256 " + digest + ")"));
}

TEST(StatusTextTest, ShowsViolations) {
  Json object = testing::TrainingJobJson();
  object["spec"]["training"]["epochs"] = "many";
  const api::DistTraining training = testing::Parsed(object);
  EXPECT_THAT(StatusText(training, {}, testing::Now()), HasSubstr("spec.training.epochs"));
  EXPECT_EQ(OutputsUri(training).status().code(), StatusCode::kNotFound);
}

TEST(StatusTextTest, EscapesTextFromCluster) {
  Json object = testing::FailedJobJson();
  object["status"]["lastError"]["message"] = "a\x1b[2Jb";
  object["status"]["conditions"][2]["message"] = "c\x1b]0;d";
  const std::string text = StatusText(testing::Parsed(object), {}, testing::Now());
  EXPECT_THAT(text, HasSubstr("a\\x1b[2Jb"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(JobTableTest, HasALineForEachJob) {
  const std::vector<api::DistTraining> jobs = {testing::Parsed(testing::TrainingJobJson()),
                                               testing::Parsed(testing::FailedJobJson())};
  testing::ExpectGolden("table.txt", JobTable(jobs, Namespaces::kHide, testing::Now()) + "\n" +
                                         JobTable(jobs, Namespaces::kShow, testing::Now()));
}

TEST(StatusJsonTest, HasStatusAndDerivedFields) {
  testing::ExpectGolden("status.json", JsonText(StatusJson(testing::Parsed(testing::TrainingJobJson()), Events())));
}

TEST(StatusJsonTest, IsPlainAscii) {
  EXPECT_EQ(JsonText(Json("a\x1b\x7f\xc2\x9bü\xff")), "\"a\\u001b\\u007f\\u009b\\u00fc\\ufffd\"\n");
}

TEST(AgeTextTest, MatchesKubectl) {
  const auto age = [](int64_t time) { return AgeText(testing::Ago(seconds(time)), testing::Now()); };
  EXPECT_EQ(age(-5), "0s");
  EXPECT_EQ(age(119), "119s");
  EXPECT_EQ(age(120), "2m");
  EXPECT_EQ(age(200), "3m20s");
  EXPECT_EQ(age(20 * 60 + 5), "20m");
  EXPECT_EQ(age(3 * 3600 + 120), "3h2m");
  EXPECT_EQ(age(20 * 3600), "20h");
  EXPECT_EQ(age(3 * 86400 + 7200), "3d2h");
  EXPECT_EQ(age(100 * 86400), "100d");
  EXPECT_EQ(age(2 * 365 * 86400 - 1), "729d");
  EXPECT_EQ(age(2 * 365 * 86400 + 7200), "2y");
  EXPECT_EQ(age(800 * 86400), "2y70d");
  EXPECT_EQ(age((8 * 365 + 70) * 86400), "8y");
}

}  // namespace
}  // namespace espalier::ctl::view
