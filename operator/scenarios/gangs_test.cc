// Jobs whose pods start together or not at all, on a fake API server with and without PodGroups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/reasons.h"
#include "operator/testing/operator_world.h"

namespace espalier::ctl::cluster {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

controller::ControllerOptions WithGangs() {
  controller::ControllerOptions options;
  options.gang_scheduling = true;
  return options;
}

// Answers GET requests for PodGroups with an error.
client::FakeApiServer::Interceptor RefusePodGroups(int code, const std::string& reason) {
  return [=](const kube::HttpRequest& request, bool) -> std::optional<Result<client::HttpResponse>> {
    if (request.method != "GET" || request.target.find("/podgroups") == std::string::npos) return std::nullopt;
    const Json status = {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"},
                         {"code", code},     {"reason", reason},   {"message", "refused by the test"}};
    return Result<client::HttpResponse>(client::HttpResponse{.code = code, .body = kube::Print(status)});
  };
}

class GangScenarioTest : public ::testing::Test {
 protected:
  GangScenarioTest() : world_(WithGangs()) {}

  void Create() {
    world_.Create("cora", {{"trainers", {{"replicas", 2}}}, {"graph", {{"partitions", {{"count", 2}}}}}});
  }
  std::string GroupOf(const kube::Resource& resource, const std::string& name) const {
    const std::optional<Json> child = world_.server.Find(resource, {"ml", name});
    return child ? kube::StringAt(*child, {"spec", "template", "spec", "schedulingGroup", "podGroupName"}) : "no child";
  }

  OperatorWorld world_;
};

TEST_F(GangScenarioTest, PodsAreMembersOfTheirGroupsAcrossRestartsOfTheOperator) {
  world_.op->awaits_pod_groups = true;
  Create();
  ASSERT_TRUE(world_.RunUntilPhase("cora", "Starting"));
  world_.RestartOperator();
  ASSERT_TRUE(world_.RunUntilPhase("cora", "Training"));
  world_.Settle();
  EXPECT_THAT(world_.Names(kube::kPodGroups), ElementsAre("cora-server", "cora-trainer-1"));
  EXPECT_EQ(GroupOf(kube::kJobs, "cora-trainer-1"), "cora-trainer-1");
  EXPECT_EQ(GroupOf(kube::kStatefulSets, "cora-server-0"), "cora-server");

  ASSERT_TRUE(
      world_.server
          .Update(kube::kPodGroups, {"ml", "cora-server"},
                  [](Json& group) {
                    group["status"]["conditions"] = Json::array(
                        {{{"type", "PodGroupInitiallyScheduled"}, {"status", "True"}, {"reason", "Scheduled"}}});
                  })
          .ok());
  world_.Settle();
  const std::optional<Json> servers = world_.server.Find(kube::kPodGroups, {"ml", "cora-server"});
  ASSERT_TRUE(servers.has_value());
  EXPECT_EQ(kube::IntegerAt(*servers, {"spec", "schedulingPolicy", "gang", "minCount"}), 1);
}

TEST_F(GangScenarioTest, WithoutTheApiJobsRunAsWithoutGangs) {
  world_.server.SetInterceptor(RefusePodGroups(404, "NotFound"));
  world_.RestartOperator();
  Create();
  ASSERT_TRUE(world_.RunUntilPhase("cora", "Training"));
  EXPECT_EQ(world_.server.Count(kube::kPodGroups), 0u);
  EXPECT_EQ(GroupOf(kube::kJobs, "cora-trainer-1"), "");
}

TEST_F(GangScenarioTest, APermissionThatIsMissingIsReported) {
  world_.server.SetInterceptor(RefusePodGroups(403, "Forbidden"));
  world_.RestartOperator();
  Create();
  const auto servers = [this] {
    const api::Status status = world_.StatusOf("cora");
    const api::Condition* const condition = api::FindCondition(status, api::kServersReady);
    return condition == nullptr ? api::Condition{} : *condition;
  };
  ASSERT_TRUE(world_.RunUntil([&] { return servers().reason == plan::kPodGroupsUnavailable; }));
  EXPECT_THAT(servers().message, HasSubstr("refused by the test"));
  EXPECT_THAT(servers().message, HasSubstr("gangScheduling.enabled"));
}

}  // namespace
}  // namespace espalier::ctl::cluster
