#include <algorithm>

#include "operator/resources/child.h"
#include "operator/resources/names.h"

namespace espalier::ctl::resources {

using api::Role;
using kube::Json;

namespace {

Inputs InputsOfGroup(int64_t min_count) { return Inputs().Add("minCount", min_count); }

bool NeedsAllPods(Role role) { return role == Role::kPartitioner || role == Role::kTrainer; }

}  // namespace

int64_t CountPods(const api::Spec& spec, Role role) {
  const job::DistTraining& job = spec.job;
  switch (role) {
    case Role::kPartitioner: return job.partitioner_replicas;
    case Role::kServer: return int64_t{job.graph.partitions.count} * job.server_replicas_per_partition;
    case Role::kSampler: return job.sampler_replicas;
    case Role::kTrainer: return CountTrainerPods(spec, job.trainer_replicas);
  }
  return 0;
}

uint32_t MostContainersPerPod(const api::Spec& spec) {
  return std::max(spec.job.server_containers_per_pod, spec.job.trainer_containers_per_pod);
}

int64_t CountTrainerPods(const api::Spec& spec, int64_t trainers) {
  return trainers / int64_t{spec.job.trainer_containers_per_pod};
}

Json PodTemplate(const Context& context, Role role) {
  switch (role) {
    case Role::kPartitioner: return PartitionJob(context)["spec"]["template"];
    case Role::kServer: return ServerSet(context, /*replica=*/0, /*scaled_to_zero=*/false)["spec"]["template"];
    case Role::kSampler: return SamplerSet(context, /*scaled_to_zero=*/false)["spec"]["template"];
    case Role::kTrainer: return TrainerJob(context)["spec"]["template"];
  }
  return Json::object();
}

std::string CurrentPodGroupName(const Context& context, Role role) {
  const int64_t number = role == Role::kPartitioner ? context.status.partition_attempt : context.status.incarnation;
  return PodGroupName(context.training.meta.key.name, role, number);
}

std::string InputsOfPodGroup(const Context& context, int64_t min_count) {
  return InputsOfGroup(min_count).Hash(context.training);
}

// The pods of a role that needs all of them are also preempted together: without one, the others could not continue.
Json PodGroup(const Context& context, Role role, int64_t min_count) {
  Json group = MakeChild(context, kube::kPodGroups, CurrentPodGroupName(context, role), api::ToString(role),
                         InputsOfGroup(min_count));
  group["spec"] = {{"schedulingPolicy", {{"gang", {{"minCount", min_count}}}}}};
  if (NeedsAllPods(role)) group["spec"]["disruptionMode"] = {{"all", Json::object()}};
  const std::string priority = kube::StringAt(PodTemplate(context, role), {"spec", "priorityClassName"});
  if (!priority.empty()) group["spec"]["priorityClassName"] = priority;
  return group;
}

}  // namespace espalier::ctl::resources
