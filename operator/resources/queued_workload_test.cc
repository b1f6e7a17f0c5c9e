// Tests the Workload that a job puts into a queue of Kueue, and what Kueue adds to pods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/resources/labels.h"
#include "operator/resources/testing/jobs.h"

namespace espalier::ctl::resources {
namespace {

using kube::Json;
using testing::FullJob;
using testing::Job;
using testing::JobWith;
using testing::SmallJob;

Json CountsOf(const Json& workload) {
  Json counts = Json::object();
  for (const Json& set : workload["spec"]["podSets"]) counts[set["name"].get<std::string>()] = set["count"];
  return counts;
}

Job Queued(Job job) {
  job.training.meta.labels[kQueueLabel] = "research";
  return job;
}

TEST(QueuedWorkloadTest, HasOnePodSetPerRoleWithAllOfItsPods) {
  const Job full = Queued(FullJob());
  const Json workload = QueuedWorkload(full.context(), std::nullopt);
  EXPECT_EQ(CountsOf(workload), (Json{{"partitioner", 1}, {"servers", 2}, {"samplers", 2}, {"trainers", 3}}));
  EXPECT_EQ(workload["apiVersion"], "kueue.x-k8s.io/v1beta2");
  EXPECT_EQ(workload["kind"], "Workload");
  EXPECT_EQ(workload["spec"]["queueName"], "research");
  EXPECT_FALSE(workload["spec"].contains("priorityClassRef"));
  EXPECT_FALSE(workload["spec"].contains("maximumExecutionTimeSeconds"));
  EXPECT_EQ(workload["metadata"]["labels"]["kueue.x-k8s.io/job-uid"], full.training.meta.uid);
  EXPECT_EQ(workload["metadata"]["ownerReferences"][0]["uid"], full.training.meta.uid);

  const Job small = Queued(SmallJob());
  EXPECT_FALSE(CountsOf(QueuedWorkload(small.context(), std::nullopt)).contains("samplers"));
}

TEST(QueuedWorkloadTest, TemplatesEqualThoseOfChildren) {
  const Job job = Queued(FullJob());
  const Json workload = QueuedWorkload(job.context(), std::nullopt);
  EXPECT_EQ(workload["spec"]["podSets"][1]["template"], ServerSet(job.context(), 0, false)["spec"]["template"]);
  EXPECT_EQ(workload["spec"]["podSets"][3]["template"], TrainerJob(job.context())["spec"]["template"]);
}

TEST(QueuedWorkloadTest, TheMinimumOfTheDocumentAllowsPartialAdmission) {
  const Job job = Queued(JobWith({{"trainers", {{"replicas", 4}, {"minReplicas", 2}}}}));
  const Json sets = QueuedWorkload(job.context(), std::nullopt)["spec"]["podSets"];
  EXPECT_EQ(sets.back()["name"], "trainers");
  EXPECT_EQ(sets.back()["count"], 4);
  EXPECT_EQ(sets.back()["minCount"], 2);
  EXPECT_FALSE(sets.front().contains("minCount"));
}

Json WithAnnotation(const char* name, const char* value) {
  return {{"replicas", 2}, {"template", {{"metadata", {{"annotations", {{name, value}}}}}}}};
}

TEST(QueuedWorkloadTest, TemplateAnnotationsRequestTopology) {
  const auto sets_of = [](const Json& spec) {
    return QueuedWorkload(Queued(JobWith(spec)).context(), std::nullopt)["spec"]["podSets"];
  };
  const char* const zone = "topology.kubernetes.io/zone";
  EXPECT_EQ(sets_of({{"trainers", WithAnnotation(kRequiredTopologyAnnotation, zone)}}).back()["topologyRequest"],
            (Json{{"required", zone}, {"podIndexLabel", "batch.kubernetes.io/job-completion-index"}}));
  EXPECT_EQ(sets_of({{"trainers", WithAnnotation(kPreferredTopologyAnnotation, zone)}})
                .back()["topologyRequest"]["preferred"],
            zone);
  const Json samplers = sets_of({{"samplers", WithAnnotation(kUnconstrainedTopologyAnnotation, "true")}})[2];
  EXPECT_EQ(samplers["topologyRequest"], (Json{{"unconstrained", true}}));
  EXPECT_EQ(samplers["template"]["metadata"]["annotations"][kUnconstrainedTopologyAnnotation], "true");
  for (const Json& set : sets_of(Json::object())) EXPECT_FALSE(set.contains("topologyRequest")) << set["name"];
}

TEST(QueuedWorkloadTest, CopiesPriorityAndMaxTime) {
  Job job = Queued(SmallJob());
  job.training.meta.labels[kQueuePriorityLabel] = "high";
  job.training.meta.labels[kQueueMaxTimeLabel] = "3600";
  const Json spec = QueuedWorkload(job.context(), 100)["spec"];
  EXPECT_EQ(spec["priorityClassRef"],
            (Json{{"group", "kueue.x-k8s.io"}, {"kind", "WorkloadPriorityClass"}, {"name", "high"}}));
  EXPECT_EQ(spec["priority"], 100);
  EXPECT_EQ(spec["maximumExecutionTimeSeconds"], 3600);
}

TEST(QueuedWorkloadTest, IgnoresInvalidMaxTime) {
  for (const char* const text : {"0", "-1", "1h", "", "3000000000", "1.5"}) {
    Job job = Queued(SmallJob());
    job.training.meta.labels[kQueueMaxTimeLabel] = text;
    EXPECT_EQ(MaxExecutionSeconds(job.training), std::nullopt) << text;
  }
}

TEST(QueuedWorkloadTest, InputsChangeWithCountsAndResourcesOnly) {
  Job job = Queued(SmallJob());
  const std::string inputs = InputsOfQueuedWorkload(job.context());
  EXPECT_EQ(kube::StringAt(QueuedWorkload(job.context(), std::nullopt), {"metadata", "annotations", kInputsAnnotation}),
            inputs);
  ++job.status.incarnation;
  job.status.trainer_replicas = 1;
  EXPECT_EQ(InputsOfQueuedWorkload(job.context()), inputs);
  EXPECT_NE(InputsOfQueuedWorkload(Queued(JobWith({{"trainers", {{"replicas", 5}}}})).context()), inputs);
  const Json resources = {{"requests", {{"cpu", "3"}}}};
  EXPECT_NE(InputsOfQueuedWorkload(Queued(JobWith({{"servers", {{"resources", resources}}}})).context()), inputs);
}

TEST(QueuedWorkloadTest, InputsForOtherWorldSizeEqualThoseOfEditedDocument) {
  const Job five = Queued(JobWith({{"trainers", {{"replicas", 5}, {"minReplicas", 3}}}}));
  const Job two = Queued(JobWith({{"trainers", {{"replicas", 2}}}}));
  EXPECT_EQ(InputsOfQueuedWorkload(two.context(), {.count = 5, .least = 3}), InputsOfQueuedWorkload(five.context()));
  EXPECT_EQ(InputsOfQueuedWorkload(five.context(), {.count = 2, .least = std::nullopt}),
            InputsOfQueuedWorkload(two.context()));
  EXPECT_NE(InputsOfQueuedWorkload(two.context(), {.count = 5, .least = 2}), InputsOfQueuedWorkload(five.context()));
}

TEST(PlacementTest, IsAddedToThePodsOfItsRoleAfterTheirTemplate) {
  const Job job = FullJob();
  Context context = job.context();
  const Json toleration = {{"key", "spot"}, {"operator", "Exists"}};
  context.placements[api::Role::kServer] = {
      {"metadata", {{"annotations", {{"provisioned", "yes"}}}}},
      {"spec", {{"nodeSelector", {{"pool", "spot"}}}, {"tolerations", Json::array({toleration})}}}};
  const Json pod = ServerSet(context, 0, false)["spec"]["template"];
  EXPECT_EQ(pod["spec"]["nodeSelector"]["pool"], "spot");
  const Json without = ServerSet(job.context(), 0, false)["spec"]["template"];
  EXPECT_EQ(pod["spec"]["tolerations"].size(), without["spec"]["tolerations"].size() + 1);
  EXPECT_EQ(pod["spec"]["tolerations"].back(), toleration);
  EXPECT_EQ(pod["metadata"]["annotations"]["provisioned"], "yes");
  EXPECT_EQ(TrainerJob(context), TrainerJob(job.context()));
  EXPECT_NE(InputsOfServerSet(context, false), InputsOfServerSet(job.context(), false));
  EXPECT_EQ(InputsOfQueuedWorkload(context), InputsOfQueuedWorkload(job.context()));
  EXPECT_EQ(QueuedWorkload(context, std::nullopt), QueuedWorkload(job.context(), std::nullopt));
}

}  // namespace
}  // namespace espalier::ctl::resources
