#include "operator/controller/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/testing/one_job.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::controller {
namespace {

using ::testing::HasSubstr;

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

TEST(ProgressTest, ReadsStatusOfTrainer) {
  const Result<api::Progress> progress = ParseProgress(kGood, Record(), kube::WallTime(std::chrono::seconds(5)));
  ASSERT_TRUE(progress.ok()) << progress.status().ToString();
  EXPECT_EQ(progress->epoch, 7);
  EXPECT_DOUBLE_EQ(progress->percent, 14.1);
  EXPECT_EQ(progress->eta_seconds, 61);
  EXPECT_EQ(progress->metrics, (std::map<std::string, double>{{"loss", 0.25}}));
}

TEST(ProgressTest, ReadsPhaseOfTrainer) {
  EXPECT_EQ(ParseProgress(kGood, Record(), {})->phase, "") << "of an older trainer";
  const auto parsed = [](const std::string& phase) {
    return ParseProgress(R"({"uid": "5f1c", "incarnation": 2, "percent": 100, "phasePercent": 33.333, "phase": )" +
                             kube::Print(phase) + "}",
                         Record(), {});
  };
  EXPECT_EQ(parsed("Embedding")->phase, "Embedding");
  EXPECT_EQ(parsed("Embedding")->phase_percent, 33.3);
  EXPECT_EQ(parsed("Embedding")->percent, 100);
  for (const std::string& phase : {std::string("\033[2J"), std::string(64, 'a')}) {
    EXPECT_EQ(parsed(phase)->phase, "");
    EXPECT_FALSE(parsed(phase)->phase_percent.has_value());
  }
}

TEST(ProgressTest, RefusesStatusOfOtherJobOrIncarnation) {
  TrainingRecord other = Record();
  other.meta.uid = "77aa";
  EXPECT_FALSE(ParseProgress(kGood, other, {}).ok());
  other = Record();
  other.incarnation = 3;
  EXPECT_FALSE(ParseProgress(kGood, other, {}).ok());
}

TEST(ProgressTest, RefusesMalformedStatus) {
  for (const char* const body : {"", "[]", "null", "{\"uid\": \"5f1c\", \"incarnation\": 2}",
                                 "{\"uid\": \"5f1c\", \"incarnation\": 2, \"percent\": \"all\"}"}) {
    EXPECT_FALSE(ParseProgress(body, Record(), {}).ok()) << body;
  }
}

TEST(ProgressTest, PollsRankZeroOfCurrentIncarnation) {
  Caches caches;
  const auto add = [&](const std::string& name, const std::string& incarnation, const std::string& index,
                       kube::PodPhase phase) {
    kube::Pod pod;
    pod.meta.key = {"ml", name};
    pod.meta.labels = {{resources::kJobLabel, "cora"},
                       {resources::kComponentLabel, "trainer"},
                       {resources::kIncarnationLabel, incarnation},
                       {resources::kCompletionIndexLabel, index}};
    pod.phase = phase;
    pod.ip = "10.0.0.1";
    caches.pods.Put(pod);
  };
  EXPECT_EQ(FindRankZero(caches, Record()), nullptr);
  add("a", "1", "0", kube::PodPhase::kRunning);
  add("b", "2", "1", kube::PodPhase::kRunning);
  add("c", "2", "0", kube::PodPhase::kPending);
  EXPECT_EQ(FindRankZero(caches, Record()), nullptr);
  add("d", "2", "0", kube::PodPhase::kRunning);
  ASSERT_NE(FindRankZero(caches, Record()), nullptr);
  EXPECT_EQ(FindRankZero(caches, Record())->meta.key.name, "d");
}

class ProgressPollerTest : public ::testing::Test {
 protected:
  ProgressPollerTest() {
    SetStatus({{"phase", "Training"}, {"incarnation", 2}});
    kube::Pod pod;
    pod.meta.key = {"ml", "cora-trainer-2-0"};
    pod.meta.labels = {{resources::kJobLabel, "cora"},
                       {resources::kComponentLabel, "trainer"},
                       {resources::kIncarnationLabel, "2"},
                       {resources::kCompletionIndexLabel, "0"}};
    pod.phase = kube::PodPhase::kRunning;
    pod.ip = "10.0.0.1";
    caches.pods.Put(pod);
  }
  void SetStatus(const kube::Json& status) {
    ASSERT_TRUE(
        job.server.Update(kube::kDistTrainings, job.key, [&](kube::Json& object) { object["status"] = status; }).ok());
    Refresh();
  }
  // Makes the cache show what the server stores.
  void Refresh() { caches.trainings.Put(*ParseTrainingRecord(job.Stored())); }
  void Say(double percent) {
    said = kube::Print({{"uid", job.Training().meta.uid}, {"incarnation", 2}, {"epoch", 7}, {"percent", percent}});
  }
  double Percent() const {
    const std::optional<api::Progress> progress = job.Training().status.progress;
    return progress ? progress->percent : -1;
  }

  OneJob job;
  Caches caches;
  ControllerMetrics metrics{job.registry};
  Result<std::string> said = Unavailable("unreachable");
  int questions = 0;
  ProgressPoller poller{job.client,
                        caches,
                        metrics,
                        {},
                        [this] { return job.now; },
                        [this](const std::string& ip, Deadline) {
                          ++questions;
                          EXPECT_EQ(ip, "10.0.0.1");
                          return said;
                        }};
};

TEST_F(ProgressPollerTest, WritesOnlyProgressOfStatus) {
  Say(14);
  poller.PollOnce();
  EXPECT_EQ(Percent(), 14);
  EXPECT_EQ(job.Training().status.incarnation, 2);
  EXPECT_EQ(kube::StringAt(job.Stored(), {"status", "phase"}), "Training");
}

TEST_F(ProgressPollerTest, WritesChangesAtMostEveryFifteenSeconds) {
  Say(14);
  poller.PollOnce();
  Refresh();
  job.now += std::chrono::seconds(10);
  Say(15);
  poller.PollOnce();
  EXPECT_EQ(Percent(), 14) << "too early";
  job.now += std::chrono::seconds(5);
  poller.PollOnce();
  EXPECT_EQ(Percent(), 15);
  Refresh();
  const int64_t requests = job.server.num_requests();
  job.now += std::chrono::seconds(60);
  poller.PollOnce();
  EXPECT_EQ(job.server.num_requests(), requests) << "nothing new";
}

TEST_F(ProgressPollerTest, UnreachableTrainerKeepsProgress) {
  Say(14);
  poller.PollOnce();
  Refresh();
  job.now += std::chrono::seconds(60);
  said = DeadlineExceeded("silent");
  poller.PollOnce();
  EXPECT_EQ(Percent(), 14);
  EXPECT_THAT(job.registry.Serialize(), HasSubstr("espalier_operator_progress_failures_total 1\n"));
}

// The trainer has ended since the cache was updated, and its final progress is written.
TEST_F(ProgressPollerTest, DoesNotOverwriteNewerStatus) {
  ASSERT_TRUE(job.server
                  .Update(kube::kDistTrainings, job.key,
                          [](kube::Json& object) {
                            object["status"]["progress"] = {{"epoch", 50}, {"percent", 100}};
                            object["status"]["phase"] = "Succeeded";
                          })
                  .ok());
  Say(97);
  poller.PollOnce();
  EXPECT_EQ(questions, 1);
  EXPECT_EQ(Percent(), 100);
  EXPECT_THAT(job.registry.Serialize(), HasSubstr("espalier_operator_progress_failures_total 0\n"));
}

TEST_F(ProgressPollerTest, AWriteThatIsRefusedCountsAsAFailure) {
  job.server.SetInterceptor([](const kube::HttpRequest&, bool) -> std::optional<Result<client::HttpResponse>> {
    return Result<client::HttpResponse>(Unavailable("down"));
  });
  Say(14);
  poller.PollOnce();
  EXPECT_THAT(job.registry.Serialize(), HasSubstr("espalier_operator_progress_failures_total 1\n"));
}

TEST_F(ProgressPollerTest, SkipsJobsOfOtherControllers) {
  Say(20);
  kube::Json object = job.Stored();
  object["spec"]["runPolicy"]["managedBy"] = "example.com/other";
  caches.trainings.Put(*ParseTrainingRecord(object));
  poller.PollOnce();
  EXPECT_EQ(questions, 0);
}

TEST_F(ProgressPollerTest, SkipsUserPrograms) {
  Say(20);
  kube::Json object = job.Stored();
  object["spec"]["trainers"]["program"]["command"] = kube::Json::array({"my-program"});
  caches.trainings.Put(*ParseTrainingRecord(object));
  poller.PollOnce();
  EXPECT_EQ(questions, 0);
  Refresh();
  poller.PollOnce();
  EXPECT_EQ(questions, 1);
}

TEST_F(ProgressPollerTest, PollsOnlyTrainingJobs) {
  Say(14);
  for (const char* const phase : {"Starting", "Restarting", "Suspended", "Succeeded"}) {
    SetStatus({{"phase", phase}, {"incarnation", 2}});
    poller.PollOnce();
  }
  EXPECT_EQ(questions, 0);
}

}  // namespace
}  // namespace espalier::ctl::controller
