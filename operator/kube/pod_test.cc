#include "operator/kube/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::kube {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Pod ParsedPod(std::string_view text) {
  const Result<Json> json = ParseJson(text);
  EXPECT_TRUE(json.ok()) << json.status().ToString();
  const Result<Pod> pod = ParsePod(json.ok() ? *json : Json());
  EXPECT_TRUE(pod.ok()) << pod.status().ToString();
  return pod.ok() ? *pod : Pod();
}

TEST(PodTest, ReadsARunningPod) {
  const Pod pod = ParsedPod(R"({"metadata":{"name":"cora-server-0-1","namespace":"ml"},"spec":{"nodeName":"n1"},
    "status":{"phase":"Running","podIP":"10.1.2.3","conditions":[{"type":"PodScheduled","status":"True"},
    {"type":"Ready","status":"True","lastTransitionTime":"2026-01-02T03:04:06Z"}],
    "containerStatuses":[{"name":"server","ready":true,"restartCount":2,
    "state":{"running":{"startedAt":"2026-01-02T03:04:05Z"}},"lastState":{"terminated":{"exitCode":74,"reason":"Error",
    "message":"{\"reason\":\"StoreUnavailable\"}","finishedAt":"2026-01-02T03:04:04Z"}}}]}})");
  EXPECT_EQ(pod.meta.key.name, "cora-server-0-1");
  EXPECT_EQ(pod.phase, PodPhase::kRunning);
  EXPECT_EQ(pod.node, "n1");
  EXPECT_EQ(pod.ip, "10.1.2.3");
  EXPECT_TRUE(pod.ready);
  EXPECT_EQ(pod.ready_changed_at, *ParseTime("2026-01-02T03:04:06Z"));
  EXPECT_FALSE(pod.disruption_target);
  EXPECT_EQ(pod.unscheduled_message, "");
  ASSERT_THAT(pod.containers, SizeIs(1));
  EXPECT_TRUE(pod.containers[0].ready);
  EXPECT_EQ(pod.containers[0].restarts, 2);
  EXPECT_EQ(pod.containers[0].ended, std::nullopt);
  ASSERT_TRUE(pod.containers[0].last_ended.has_value());
  EXPECT_EQ(pod.containers[0].last_ended->exit_code, 74);
  EXPECT_EQ(pod.containers[0].last_ended->message, R"({"reason":"StoreUnavailable"})");
  EXPECT_EQ(pod.containers[0].last_ended->started_at, std::nullopt);
}

TEST(PodTest, ReadsHowAPodEnded) {
  const Pod pod =
      ParsedPod(R"({"metadata":{"name":"x"},"status":{"phase":"Failed","reason":"Evicted","message":"node was low",
    "conditions":[{"type":"DisruptionTarget","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"},
    {"type":"Ready","status":"False"}],
    "containerStatuses":[{"name":"trainer","state":{"terminated":{"exitCode":137,"signal":9,"reason":"OOMKilled",
    "startedAt":"2026-01-02T03:03:05Z","finishedAt":"2026-01-02T03:04:05Z"}}}]}})");
  EXPECT_EQ(pod.phase, PodPhase::kFailed);
  EXPECT_EQ(pod.reason, "Evicted");
  EXPECT_TRUE(pod.disruption_target);
  EXPECT_EQ(pod.disrupted_since, *ParseTime("2026-01-02T03:04:05Z"));
  EXPECT_FALSE(pod.ready);
  EXPECT_EQ(pod.ready_changed_at, std::nullopt);
  ASSERT_THAT(pod.containers, SizeIs(1));
  const ContainerEnd expected{.exit_code = 137,
                              .signal = 9,
                              .reason = "OOMKilled",
                              .started_at = *ParseTime("2026-01-02T03:03:05Z"),
                              .finished_at = *ParseTime("2026-01-02T03:04:05Z")};
  EXPECT_EQ(pod.containers[0].ended, expected);
}

TEST(PodTest, ReadsWhyPodDoesNotStart) {
  const Pod waiting =
      ParsedPod(R"({"metadata":{"name":"x"},"status":{"phase":"Pending","containerStatuses":[{"name":"c",
    "state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image"}}}],
    "initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]}})");
  ASSERT_THAT(waiting.containers, SizeIs(2));
  EXPECT_EQ(waiting.containers[0].name, "i") << "init containers first";
  EXPECT_EQ(waiting.containers[1].waiting_reason, "ImagePullBackOff");
  EXPECT_EQ(waiting.containers[1].waiting_message, "Back-off pulling image");

  const Pod unscheduled = ParsedPod(R"({"metadata":{"name":"x"},"status":{"phase":"Pending","conditions":[
    {"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available"}]}})");
  EXPECT_EQ(unscheduled.unscheduled_message, "0/3 nodes are available");
}

TEST(PodTest, PodWithoutStatusIsUnknown) {
  const Pod pod = ParsedPod(R"({"metadata":{"name":"x"}})");
  EXPECT_EQ(pod.phase, PodPhase::kUnknown);
  EXPECT_THAT(pod.containers, IsEmpty());
}

TEST(PodTest, SurvivesFieldsOfOtherTypes) {
  const Pod pod =
      ParsedPod(R"({"metadata":{"name":"x"},"spec":7,"status":{"phase":3,"podIP":{},"conditions":[1,null,{"type":[]}],
    "containerStatuses":[null,"x",{"restartCount":99999999999,"state":{"terminated":{"exitCode":-99999999999}}}]}})");
  ASSERT_THAT(pod.containers, SizeIs(3));
  EXPECT_EQ(pod.containers[2].restarts, INT32_MAX);
  EXPECT_EQ(pod.containers[2].ended->exit_code, INT32_MIN);
}

TEST(PodTest, RefusesNonObjects) { EXPECT_EQ(ParsePod(Json(1)).status().code(), StatusCode::kInvalidArgument); }

}  // namespace
}  // namespace espalier::ctl::kube
