// Tests the pods of trainers with GPUs: resources, variables and shared memory.
#include <gtest/gtest.h>

#include "operator/resources/builders.h"
#include "operator/resources/testing/jobs.h"

namespace espalier::ctl::resources {
namespace {

using kube::Json;
using testing::Job;
using testing::JobWith;

const Json& GpuPod(const Json& job) { return job["spec"]["template"]["spec"]; }
const Json& GpuContainer(const Json& job) { return GpuPod(job)["containers"][0]; }

// Returns the item of a list with that name, or null.
Json ItemNamed(const Json& list, const std::string& name) {
  for (const Json& item : list) {
    if (item["name"] == name) return item;
  }
  return nullptr;
}

// Returns a job with a program on two GPUs; `trainers` is merged into spec.trainers.
Job GpuJob(const Json& trainers = Json::object()) {
  Json fields = {{"gpus", 2}, {"program", {{"command", {"my-program"}}}}};
  fields.merge_patch(trainers);
  return JobWith({{"trainers", fields}});
}

TEST(GpuPodTest, AddsGpusToResourcesOfDocument) {
  const Job job = GpuJob({{"resources", {{"requests", {{"cpu", "4"}}}, {"limits", {{"memory", "8Gi"}}}}}});
  const Json trainers = TrainerJob(job.context());
  EXPECT_EQ(GpuContainer(trainers)["resources"], Json({{"requests", {{"cpu", "4"}, {"nvidia.com/gpu", "2"}}},
                                                       {"limits", {{"memory", "8Gi"}, {"nvidia.com/gpu", "2"}}}}));
  EXPECT_EQ(ItemNamed(GpuContainer(trainers)["env"], "NVIDIA_DRIVER_CAPABILITIES")["value"], "compute,utility");
  EXPECT_EQ(ItemNamed(GpuContainer(trainers)["env"], "NVIDIA_VISIBLE_DEVICES"), nullptr) << "the device plugin sets it";
  EXPECT_FALSE(GpuContainer(PartitionJob(job.context())).contains("resources"));
  EXPECT_FALSE(GpuContainer(ServerSet(job.context(), 0, false)).contains("resources"));
}

TEST(GpuPodTest, TakePrecedenceOverTheSameResourceOfTheDocument) {
  const Job job = GpuJob({{"resources", {{"limits", {{"nvidia.com/gpu", "7"}}}}}});
  EXPECT_EQ(GpuContainer(TrainerJob(job.context()))["resources"]["limits"], Json({{"nvidia.com/gpu", "2"}}));
}

TEST(GpuPodTest, UsesConfiguredGpuResource) {
  const Job job = GpuJob();
  Context context = job.context();
  context.gpu_resource = "amd.com/gpu";
  const Json trainers = TrainerJob(context);
  EXPECT_EQ(GpuContainer(trainers)["resources"],
            Json({{"requests", {{"amd.com/gpu", "2"}}}, {"limits", {{"amd.com/gpu", "2"}}}}));
  EXPECT_EQ(ItemNamed(GpuContainer(trainers)["env"], "NVIDIA_DRIVER_CAPABILITIES"), nullptr);
  EXPECT_EQ(trainers["metadata"]["annotations"], TrainerJob(job.context())["metadata"]["annotations"])
      << "running pods are not replaced when the operator's flag changes";
}

TEST(GpuPodTest, TemplateLimitsSharedMemoryOfPrograms) {
  const Json trainers = TrainerJob(GpuJob().context());
  EXPECT_EQ(ItemNamed(GpuContainer(trainers)["volumeMounts"], "shared-memory")["mountPath"], "/dev/shm");
  EXPECT_EQ(ItemNamed(GpuPod(trainers)["volumes"], "shared-memory")["emptyDir"], Json({{"medium", "Memory"}}));

  const Json limited = {{"medium", "Memory"}, {"sizeLimit", "4Gi"}};
  const Json pod = {{"volumes", Json::array({{{"name", "shared-memory"}, {"emptyDir", limited}}})}};
  const Json own = TrainerJob(GpuJob({{"template", {{"spec", pod}}}}).context());
  EXPECT_EQ(ItemNamed(GpuPod(own)["volumes"], "shared-memory")["emptyDir"], limited);
}

TEST(GpuPodTest, ADocumentsVariableReplacesTheDriverCapabilities) {
  const Job job = GpuJob({{"env", Json::array({{{"name", "NVIDIA_DRIVER_CAPABILITIES"}, {"value", "all"}}})}});
  EXPECT_EQ(ItemNamed(GpuContainer(TrainerJob(job.context()))["env"], "NVIDIA_DRIVER_CAPABILITIES")["value"], "all");
}

TEST(GpuPodTest, TheScriptsContainerHasNoGpu) {
  const Job job = GpuJob({{"program", {{"command", nullptr}, {"script", {{"uri", "s3://code/train.py"}}}}},
                          {"resources", {{"limits", {{"memory", "8Gi"}}}}}});
  const Json trainers = TrainerJob(job.context());
  EXPECT_EQ(GpuContainer(trainers)["resources"]["limits"]["nvidia.com/gpu"], "2");
  EXPECT_EQ(GpuPod(trainers)["initContainers"][0]["resources"],
            Json({{"requests", Json::object()}, {"limits", {{"memory", "8Gi"}}}}));
}

TEST(GpuPodTest, ABuiltInTrainerHasAtMostOne) {
  const Json trainers = TrainerJob(JobWith({{"trainers", {{"gpus", 1}}}}).context());
  EXPECT_EQ(GpuContainer(trainers)["resources"]["limits"], Json({{"nvidia.com/gpu", "1"}}));
  EXPECT_EQ(ItemNamed(GpuPod(trainers)["volumes"], "shared-memory"), nullptr) << "it is one process";
}

TEST(GpuPodTest, TrainersOfAPodHaveAGpuEachAndShareMemory) {
  const Json job =
      TrainerJob(JobWith({{"trainers", {{"replicas", 4}, {"containersPerPod", 2}, {"gpus", 1}}}}).context());
  ASSERT_EQ(GpuPod(job)["containers"].size(), 2u);
  for (const Json& container : GpuPod(job)["containers"]) {
    EXPECT_EQ(container["resources"]["limits"], Json({{"nvidia.com/gpu", "1"}}));
    EXPECT_EQ(ItemNamed(container["volumeMounts"], "shared-memory")["mountPath"], "/dev/shm");
    EXPECT_EQ(ItemNamed(container["env"], "ESPALIER_SHARED_ROW_FILE"), nullptr) << "the document shares no rows";
  }
}

TEST(GpuPodTest, ChangesTheTrainersAndTheQueuedWorkload) {
  const Job one = JobWith({{"trainers", {{"gpus", 1}}}});
  const Job none = JobWith(Json::object());
  EXPECT_NE(TrainerJob(one.context())["metadata"]["annotations"],
            TrainerJob(none.context())["metadata"]["annotations"]);
  EXPECT_NE(InputsOfQueuedWorkload(one.context()), InputsOfQueuedWorkload(none.context()));
  const Json workload = QueuedWorkload(one.context(), std::nullopt);
  for (const Json& set : workload["spec"]["podSets"]) {
    const Json& container = set["template"]["spec"]["containers"][0];
    EXPECT_EQ(container.contains("resources"), set["name"] == "trainers") << set["name"];
  }
}

}  // namespace
}  // namespace espalier::ctl::resources
