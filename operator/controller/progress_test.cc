#include "operator/controller/progress.h"

#include <gtest/gtest.h>

#include "operator/resources/labels.h"

namespace espalier::ctl::controller {
namespace {

TrainingRecord Record() {
  TrainingRecord record;
  record.meta.key = {"ml", "cora"};
  record.meta.uid = "5f1c";
  record.phase = "Training";
  record.incarnation = 2;
  return record;
}

constexpr char kGood[] = R"({"job": "cora", "uid": "5f1c", "rank": 0, "incarnation": 2, "epoch": 7, "step": 3,
  "percent": 14.06, "etaSeconds": 61.4, "metrics": {"loss": 0.25, "words": "x"}})";

TEST(ProgressTest, ReadsWhatATrainerSays) {
  const Result<api::Progress> progress = ParseProgress(kGood, Record(), kube::WallTime(std::chrono::seconds(5)));
  ASSERT_TRUE(progress.ok()) << progress.status().ToString();
  EXPECT_EQ(progress->epoch, 7);
  EXPECT_DOUBLE_EQ(progress->percent, 14.1);
  EXPECT_EQ(progress->eta_seconds, 61);
  EXPECT_EQ(progress->metrics, (std::map<std::string, double>{{"loss", 0.25}}));
}

TEST(ProgressTest, RefusesWhatComesFromAnotherJobOrIncarnation) {
  TrainingRecord other = Record();
  other.meta.uid = "77aa";
  EXPECT_FALSE(ParseProgress(kGood, other, {}).ok());
  other = Record();
  other.incarnation = 3;
  EXPECT_FALSE(ParseProgress(kGood, other, {}).ok());
}

TEST(ProgressTest, RefusesWhatIsNoStatus) {
  for (const char* const body : {"", "[]", "null", "{\"uid\": \"5f1c\", \"incarnation\": 2}",
                                 "{\"uid\": \"5f1c\", \"incarnation\": 2, \"percent\": \"all\"}"}) {
    EXPECT_FALSE(ParseProgress(body, Record(), {}).ok()) << body;
  }
}

TEST(ProgressTest, AsksRankZeroOfTheCurrentIncarnation) {
  Caches caches;
  const auto add = [&](const std::string& name, const std::string& incarnation, const std::string& index,
                       kube::PodPhase phase) {
    kube::Pod pod;
    pod.meta.key = {"ml", name};
    pod.meta.labels = {{resources::kJobLabel, "cora"},
                       {resources::kComponentLabel, "trainer"},
                       {resources::kIncarnationLabel, incarnation},
                       {"batch.kubernetes.io/job-completion-index", index}};
    pod.phase = phase;
    pod.ip = "10.0.0.1";
    caches.pods.Put(pod);
  };
  EXPECT_EQ(RankZero(caches, Record()), nullptr);
  add("a", "1", "0", kube::PodPhase::kRunning);
  add("b", "2", "1", kube::PodPhase::kRunning);
  add("c", "2", "0", kube::PodPhase::kPending);
  EXPECT_EQ(RankZero(caches, Record()), nullptr);
  add("d", "2", "0", kube::PodPhase::kRunning);
  ASSERT_NE(RankZero(caches, Record()), nullptr);
  EXPECT_EQ(RankZero(caches, Record())->meta.key.name, "d");
}

}  // namespace
}  // namespace espalier::ctl::controller
