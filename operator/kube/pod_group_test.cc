// Tests which fields of a PodGroup are read.
#include "operator/kube/pod_group.h"

#include <gtest/gtest.h>

namespace espalier::ctl::kube {
namespace {

Json Group() {
  return {{"metadata", {{"name", "cora-trainer-1"}, {"namespace", "ml"}, {"uid", "u1"}, {"resourceVersion", "7"}}},
          {"spec", {{"schedulingPolicy", {{"gang", {{"minCount", 5}}}}}}}};
}

Json WithScheduled(const char* status) {
  Json group = Group();
  group["status"]["conditions"] = Json::array({{{"type", "PodGroupInitiallyScheduled"},
                                                {"status", status},
                                                {"reason", "Unschedulable"},
                                                {"message", "0/8 nodes are available"},
                                                {"lastTransitionTime", "2026-11-29T12:00:00Z"}}});
  return group;
}

TEST(PodGroupTest, ReadsMinCountAndCondition) {
  const Result<PodGroup> waiting = ParsePodGroup(WithScheduled("False"));
  ASSERT_TRUE(waiting.ok()) << waiting.status().ToString();
  EXPECT_EQ(waiting->meta.key.name, "cora-trainer-1");
  EXPECT_EQ(waiting->min_count, 5);
  EXPECT_FALSE(waiting->was_scheduled());
  ASSERT_TRUE(waiting->scheduled.has_value());
  EXPECT_EQ(waiting->scheduled->message, "0/8 nodes are available");
  EXPECT_TRUE(ParsePodGroup(WithScheduled("True"))->was_scheduled());
}

TEST(PodGroupTest, ANewGroupHasNoConditionAndABasicOneNoMinCount) {
  EXPECT_FALSE(ParsePodGroup(Group())->scheduled.has_value());
  EXPECT_FALSE(ParsePodGroup(Group())->was_scheduled());
  Json basic = Group();
  basic["spec"]["schedulingPolicy"] = {{"basic", Json::object()}};
  EXPECT_EQ(ParsePodGroup(basic)->min_count, 0);
}

TEST(PodGroupTest, AnObjectWithoutANameIsRefused) { EXPECT_FALSE(ParsePodGroup(Json::object()).ok()); }

}  // namespace
}  // namespace espalier::ctl::kube
