// Jobs in a queue of Kueue, on a fake API server: the test writes what Kueue would write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/quota.h"
#include "operator/plan/reasons.h"
#include "operator/resources/labels.h"
#include "operator/testing/operator_world.h"

namespace espalier::ctl::cluster {
namespace {

using kube::Json;
using ::testing::HasSubstr;

const kube::ObjectKey kKey{"ml", "cora-workload"};

controller::ControllerOptions WithKueue() {
  controller::ControllerOptions options;
  options.kueue = true;
  return options;
}

class KueueTest : public ::testing::Test {
 protected:
  KueueTest() : world_(WithKueue()) {
    world_.cluster.SetProgram([this](const RunningPod& pod) -> std::optional<PodEnd> {
      if (pod.role == "trainer" && done_) return Exit(0, "trained");
      return FakeCluster::DefaultProgram(pod);
    });
    const Json toleration = {{"key", "spot"}, {"operator", "Exists"}};
    const Status put =
        world_.server.Put(kube::kResourceFlavors,
                          {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                           {"kind", "ResourceFlavor"},
                           {"metadata", {{"name", "spot"}}},
                           {"spec", {{"nodeLabels", {{"pool", "spot"}}}, {"tolerations", Json::array({toleration})}}}});
    EXPECT_TRUE(put.ok()) << put.ToString();
  }

  void CreateQueued() {
    world_.Create("cora", {{"trainers", {{"replicas", 2}}}});
    const Status labeled = world_.server.Update(kube::kDistTrainings, {"ml", "cora"}, [](Json& object) {
      object["metadata"]["labels"][resources::kQueueLabel] = "research";
    });
    EXPECT_TRUE(labeled.ok()) << labeled.ToString();
  }

  std::optional<Json> Workload() const { return world_.server.Find(kube::kWorkloads, kKey); }
  bool WorkloadIs(const char* type) const {
    const std::optional<Json> workload = Workload();
    return workload && kube::IsConditionTrue(*workload, type);
  }

  void SetCondition(const char* type, const char* status, const std::string& reason, const std::string& message) {
    const Status done = world_.server.Update(kube::kWorkloads, kKey, [&](Json& workload) {
      Json& conditions = workload["status"]["conditions"];
      if (!conditions.is_array()) conditions = Json::array();
      for (auto one = conditions.begin(); one != conditions.end(); ++one) {
        if ((*one)["type"] != type) continue;
        conditions.erase(one);
        break;
      }
      conditions.push_back({{"type", type},
                            {"status", status},
                            {"reason", reason},
                            {"message", message},
                            {"lastTransitionTime", kube::FormatTime(world_.wall.Now())}});
    });
    EXPECT_TRUE(done.ok()) << done.ToString();
  }

  void Admit() {
    const Status done = world_.server.Update(kube::kWorkloads, kKey, [](Json& workload) {
      Json assignments = Json::array();
      for (const Json& set : workload["spec"]["podSets"]) {
        assignments.push_back({{"name", set["name"]}, {"count", set["count"]}, {"flavors", {{"cpu", "spot"}}}});
      }
      workload["status"]["admission"] = {{"clusterQueue", "gpus"}, {"podSetAssignments", std::move(assignments)}};
    });
    EXPECT_TRUE(done.ok()) << done.ToString();
    SetCondition(plan::kWorkloadQuotaReserved, "True", "QuotaReserved", "Quota reserved in ClusterQueue gpus");
    SetCondition(plan::kWorkloadEvicted, "False", "QuotaReserved", "");
    SetCondition(plan::kWorkloadAdmitted, "True", "Admitted", "The workload is admitted");
  }

  const api::Condition* Quota() {
    status_ = world_.StatusOf("cora");
    return api::FindCondition(status_, api::kQuotaReserved);
  }

  OperatorWorld world_;
  bool done_ = false;
  api::Status status_;
};

TEST_F(KueueTest, AJobWaitsRunsInItsFlavorIsEvictedAndRunsAgainAcrossRestartsOfTheOperator) {
  CreateQueued();
  world_.op->awaits_workloads = true;
  ASSERT_TRUE(world_.RunUntil([this] { return Workload().has_value(); }));
  world_.Settle();
  EXPECT_EQ(world_.PhaseOf("cora"), "Suspended");
  EXPECT_EQ(world_.server.Count(kube::kPods), 0u);

  world_.RestartOperator();
  world_.Settle();
  Admit();
  ASSERT_TRUE(world_.RunUntilPhase("cora", "Training"));
  for (const Json& pod : world_.server.All(kube::kPods)) {
    EXPECT_EQ(kube::StringAt(pod, {"spec", "nodeSelector", "pool"}), "spot") << pod["metadata"]["name"];
    EXPECT_EQ(kube::ListAt(pod, {"spec", "tolerations"}).back()["key"], "spot") << pod["metadata"]["name"];
  }
  EXPECT_TRUE(WorkloadIs(plan::kWorkloadPodsReady));

  SetCondition(plan::kWorkloadEvicted, "True", "Preempted", "for a job of higher priority");
  world_.Turn();
  world_.RestartOperator();
  ASSERT_TRUE(world_.RunUntil([this] { return !WorkloadIs(plan::kWorkloadQuotaReserved); }));
  EXPECT_EQ(world_.server.Count(kube::kPods), 0u);
  world_.Settle();
  EXPECT_EQ(world_.PhaseOf("cora"), "Suspended");
  EXPECT_TRUE(WorkloadIs(plan::kWorkloadRequeued));
  EXPECT_EQ(Workload()->at("status").count("admission"), 0u);

  Admit();
  ASSERT_TRUE(world_.RunUntilPhase("cora", "Training"));
  EXPECT_EQ(world_.StatusOf("cora").incarnation, 2);
  EXPECT_EQ(world_.StatusOf("cora").attempts_counted, 0);
  done_ = true;
  ASSERT_TRUE(world_.RunUntilPhase("cora", "Succeeded"));
  world_.Settle();
  EXPECT_TRUE(WorkloadIs(plan::kWorkloadFinished));
}

// Answers requests whose target contains `part` with an error.
client::FakeApiServer::Interceptor Refuse(const std::string& method, const std::string& part, int code,
                                          const std::string& reason) {
  return [=](const kube::HttpRequest& request, bool) -> std::optional<Result<client::HttpResponse>> {
    if (request.method != method || request.target.find(part) == std::string::npos) return std::nullopt;
    const Json status = {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"},
                         {"code", code},     {"reason", reason},   {"message", "refused by the test"}};
    return Result<client::HttpResponse>(client::HttpResponse{.code = code, .body = kube::Print(status)});
  };
}

TEST_F(KueueTest, WithoutApiOtherJobsRunAndConditionNamesMissingApi) {
  world_.server.SetInterceptor(Refuse("GET", "/workloads", 404, "NotFound"));
  world_.RestartOperator();
  CreateQueued();
  world_.Create("other", {{"trainers", {{"replicas", 1}}}});
  ASSERT_TRUE(world_.RunUntilPhase("other", "Training"));
  EXPECT_EQ(world_.PhaseOf("cora"), "Suspended");
  ASSERT_NE(Quota(), nullptr);
  EXPECT_EQ(Quota()->reason, plan::kKueueUnavailable);
  EXPECT_THAT(Quota()->message, HasSubstr("kueue.enabled"));
}

TEST_F(KueueTest, APermissionThatIsMissingIsReportedAndTriedAgain) {
  world_.server.SetInterceptor(Refuse("PATCH", "/workloads/", 403, "Forbidden"));
  CreateQueued();
  world_.op->awaits_workloads = true;
  ASSERT_TRUE(world_.RunUntil([this] { return Quota() != nullptr && Quota()->reason == plan::kRefused; }));
  EXPECT_THAT(Quota()->message, HasSubstr("refused by the test"));
  world_.server.SetInterceptor(nullptr);
  ASSERT_TRUE(world_.RunUntil([this] { return Workload().has_value(); }));
  world_.Settle();
  EXPECT_EQ(Quota()->reason, plan::kPending);
}

TEST_F(KueueTest, AJobWithoutAQueueRunsAtOnceAndHasNoWorkload) {
  world_.op->awaits_workloads = true;
  world_.Create("plain", {{"trainers", {{"replicas", 1}}}});
  ASSERT_TRUE(world_.RunUntilPhase("plain", "Training"));
  EXPECT_EQ(world_.server.Count(kube::kWorkloads), 0u);
}

}  // namespace
}  // namespace espalier::ctl::cluster
