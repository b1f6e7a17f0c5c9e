#include "operator/kubectl/view/what_to_do.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kubectl/view/testing/jobs.h"
#include "operator/plan/reasons.h"

namespace espalier::ctl::view {
namespace {

using kube::Json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Said(const Json& job, const std::vector<JobPod>& pods = {}) {
  const api::DistTraining training = testing::Parsed(job);
  return WhatToDo(training, FindFailedPod(training, pods), testing::Now());
}

Json StartingJob(const char* condition, const char* reason, const char* message = "") {
  Json job = testing::TrainingJobJson();
  job["status"]["phase"] = "Starting";
  job["status"].erase("progress");
  for (Json& one : job["status"]["conditions"]) {
    if (one["type"] == condition) one.update({{"status", "False"}, {"reason", reason}, {"message", message}});
  }
  return job;
}

TEST(WhatToDoTest, IsEmptyForSuccessProgressAndRequestedSuspension) {
  EXPECT_THAT(Said(testing::SucceededJobJson()), StartsWith("nothing"));
  EXPECT_THAT(Said(testing::TrainingJobJson()), StartsWith("nothing"));
  Json suspended = StartingJob("TrainersReady", "Suspending");
  suspended["spec"]["runPolicy"]["suspend"] = true;
  suspended["status"]["phase"] = "Suspended";
  suspended["status"]["conditions"].push_back({{"type", "Suspended"},
                                               {"status", "True"},
                                               {"reason", "NoPodsLeft"},
                                               {"message", "no pod of the job is left"},
                                               {"lastTransitionTime", "2026-01-02T03:05:00Z"}});
  EXPECT_THAT(Said(suspended), AllOf(StartsWith("nothing"), HasSubstr("kubectl espalier resume cora -n ml")));
}

TEST(WhatToDoTest, ExplainsQueuedJob) {
  Json job = StartingJob("TrainersReady", "Suspending");
  job["status"]["phase"] = "Suspended";
  const auto add = [&job](const char* type, const char* status, const char* reason, const char* message) {
    job["status"]["conditions"].push_back({{"type", type},
                                           {"status", status},
                                           {"reason", reason},
                                           {"message", message},
                                           {"lastTransitionTime", "2026-01-02T03:05:00Z"}});
  };
  add("Suspended", "True", "NoPodsLeft", "no pod of the job is left");
  add("QuotaReserved", "False", plan::kPending, "Workload cora-workload: insufficient quota");
  EXPECT_EQ(Said(job), "nothing: the job waits in its queue (Pending): Workload cora-workload: insufficient quota");
  job["status"]["conditions"].back()["reason"] = plan::kKueueDisabled;
  job["status"]["conditions"].back()["message"] = "set kueue.enabled";
  EXPECT_EQ(Said(job), "The job cannot wait in its queue (KueueDisabled): set kueue.enabled");
}

TEST(WhatToDoTest, IgnoresOldProgress) {
  Json job = testing::TrainingJobJson();
  job["status"]["progress"]["lastUpdated"] = "2026-01-02T03:04:30Z";  // 5 m 30 s ago
  EXPECT_THAT(Said(job), HasSubstr("reported no progress for 5m30s"));
  job["status"]["progress"]["lastUpdated"] = "2026-01-02T03:03:00Z";  // of the previous group
  EXPECT_THAT(Said(job), HasSubstr("reported no progress for 6m"));
}

TEST(WhatToDoTest, NamesBlockerAndItsAge) {
  const std::string said = Said(StartingJob("TrainersReady", "Starting", "Job cora-trainer-1"));
  EXPECT_THAT(said, AllOf(HasSubstr("TrainersReady is False (Starting) since 6m"), HasSubstr("kubectl get pods -n ml"),
                          Not(HasSubstr("nothing"))));
}

TEST(WhatToDoTest, ReportsMissingOperator) {
  Json job = testing::TrainingJobJson();
  job["status"] = Json::object();
  EXPECT_THAT(Said(job), HasSubstr("Check whether espalier-operator runs and watches namespace ml"));
  job["spec"]["runPolicy"]["managedBy"] = "kueue.x-k8s.io/multikueue";
  EXPECT_THAT(Said(job), HasSubstr("leaves this job to kueue.x-k8s.io/multikueue"));
  Json changed = testing::TrainingJobJson();
  changed["metadata"]["generation"] = 2;
  EXPECT_THAT(Said(changed), HasSubstr("has not seen the latest change"));
}

TEST(WhatToDoTest, ExplainsCrashedTrainerWithoutCondition) {
  Json pod = testing::PodJson(
      "cora-trainer-1-0-abcde", api::Role::kTrainer, 0,
      {{"containerStatuses",
        Json::array({{{"name", "istio-proxy"}, {"ready", true}, {"state", {{"running", {}}}}},
                     {{"name", "trainer"}, {"state", {{"terminated", {{"exitCode", 74}, {"reason", "Error"}}}}}}})}});
  EXPECT_THAT(Said(StartingJob("TrainersReady", "Starting"), {testing::Member(pod)}),
              HasSubstr("See whether the object storage and the other pods can be reached"));
}

TEST(WhatToDoTest, AdvisesToResumeSuspendedChild) {
  const std::string said = Said(StartingJob("TrainersReady", plan::kJobSuspended, "Job cora-trainer-1 is suspended"));
  EXPECT_THAT(said, AllOf(HasSubstr("spec.suspend"), HasSubstr("manageJobsWithoutQueueName")));
}

}  // namespace
}  // namespace espalier::ctl::view
