// A Scene is the operator's loop, driven by hand: NextPlan makes a plan, Act carries it out and runs all controllers,
// Settle repeats Act until nothing changes, and SettleWithin also advances the time by the plan's requeue_after.
#include "operator/plan/testing/scene.h"

#include <gtest/gtest.h>

#include "operator/resources/names.h"

namespace espalier::ctl::plan::testing {
namespace {

struct Describe {
  std::string operator()(const ApplyChild& apply) const {
    return "apply " + std::string(apply.resource->kind) + " " + kube::StringAt(apply.object, {"metadata", "name"});
  }
  std::string operator()(const MakeAuthority&) const { return "make authority"; }
  std::string operator()(const MakeLeaf& leaf) const { return std::string("make leaf ") + api::ToString(leaf.role); }
  std::string operator()(const DeleteChild& deletion) const {
    return "delete " + std::string(deletion.resource->kind) + " " + deletion.key.name +
           (deletion.force ? " by force" : "");
  }
  std::string operator()(const DeleteSelf&) const { return "delete self"; }
  std::string operator()(const WriteProgress&) const { return "write progress"; }
  std::string operator()(const DryRunTemplates&) const { return "dry run"; }
  std::string operator()(const PatchWorkloadStatus& action) const {
    return "patch status of Workload " + action.key.name;
  }
};

}  // namespace

std::vector<std::string> Described(const std::vector<Action>& actions) {
  std::vector<std::string> described;
  for (const Action& action : actions) described.push_back(std::visit(Describe(), action));
  return described;
}

std::vector<std::string> Described(const std::vector<runtime::EventNote>& events) {
  std::vector<std::string> described;
  for (const runtime::EventNote& event : events) {
    described.push_back((event.type == runtime::EventType::kWarning ? "Warning " : "Normal ") + event.reason);
  }
  return described;
}

Plan Scene::NextPlan() {
  Observed seen = cluster_.Now();
  DropUnrequested(CollectLookups(cluster_.training(), seen, cluster_.now()), &seen);
  return MakePlan(cluster_.training(), seen, defaults_, cluster_.now());
}

Plan Scene::Act() {
  Plan plan = NextPlan();
  const std::string& resource_version = cluster_.training().meta.resource_version;
  if (api::ToJson(plan.status) != api::ToJson(status())) {
    EXPECT_TRUE(cluster_.WriteStatus(plan.status, std::string(resource_version)).ok());
  }
  for (const Action& action : plan.actions) {
    const Status done = cluster_.Do(action);
    EXPECT_TRUE(done.ok()) << done.ToString();
  }
  cluster_.RunAll();
  return plan;
}

void Scene::Settle() {
  cluster_.RunAll();
  for (int round = 0; round < 50; ++round) {
    const api::Status before = status();
    const Plan plan = Act();
    if (plan.actions.empty() && api::ToJson(plan.status) == api::ToJson(before)) return;
  }
  ADD_FAILURE() << "no end of it: " << ::testing::PrintToString(Described(NextPlan().actions));
}

void Scene::SettleAfter(std::chrono::milliseconds time) {
  cluster_.Pass(time);
  Settle();
}

void Scene::SettleWithin(std::chrono::seconds horizon) {
  const kube::WallTime end = cluster_.now() + horizon;
  Settle();
  while (true) {
    const Plan plan = NextPlan();
    if (!plan.requeue_after) return;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*plan.requeue_after);
    if (cluster_.now() + wait > end) return;
    SettleAfter(std::max(wait, std::chrono::milliseconds(1)));
  }
}

void Scene::Edit(const kube::Json& spec) {
  cluster_.Edit([&spec](api::DistTraining* training) { MergeSpec(training, spec); });
}

Scene& Scene::Partitioning() {
  Settle();
  return *this;
}

Scene& Scene::PartitionJobDone() {
  Partitioning();
  PartitionPodEnded(PartitionEnding("0123abcd"));
  Act();
  return *this;
}

Scene& Scene::Training() {
  PartitionJobDone();
  Settle();
  EXPECT_EQ(status().phase, api::Phase::kTraining);
  return *this;
}

void Scene::PartitionPodEnded(const Ending& ending) {
  const std::string job = resources::PartitionJobName(cluster_.training().meta.key.name, status().partition_attempt);
  for (const std::string& pod : Pods(job)) cluster_.EndPod(pod, ending);
  cluster_.RunAll();
}

std::string Scene::TrainerPod(int64_t rank) const {
  const std::string job = resources::TrainerJobName(cluster_.training().meta.key.name, status().incarnation);
  const std::string prefix = job + "-" + std::to_string(rank) + "-";
  for (const std::string& pod : Pods(job)) {
    if (pod.rfind(prefix, 0) == 0) return pod;
  }
  return {};
}

void Scene::TrainerPodEnded(int64_t rank, int exit_code, const std::string& reason) {
  EXPECT_TRUE(cluster_.EndPod(TrainerPod(rank), {.exit_code = exit_code, .reason = reason}));
}

void Scene::TrainersDone() {
  for (int64_t rank = 0; rank < status().trainer_replicas; ++rank) TrainerPodEnded(rank, 0);
}

api::ConditionStatus Scene::ConditionOf(const char* type) const {
  const api::Condition* condition = api::FindCondition(status(), type);
  return condition == nullptr ? api::ConditionStatus::kUnknown : condition->status;
}

std::string Scene::ReasonOf(const char* type) const {
  const api::Condition* condition = api::FindCondition(status(), type);
  return condition == nullptr ? std::string() : condition->reason;
}

std::string Scene::MessageOf(const char* type) const {
  const api::Condition* condition = api::FindCondition(status(), type);
  return condition == nullptr ? std::string() : condition->message;
}

}  // namespace espalier::ctl::plan::testing
