// A Workload is found by its owner, not by its name, so that a Workload of an earlier job of the same name is not used.
// Quota counts only while the Workload is admitted, not evicted, not finished, not being deleted, and up to date with
// the resource. A Workload stays up to date if the document has fewer trainers than the Workload has quota for:
// queue_stage.cc gives the rest of the quota back.
#include "operator/plan/quota.h"

#include <algorithm>
#include <set>

#include "operator/plan/acceptance.h"
#include "operator/resources/builders.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::plan {
namespace {

using api::Role;
using kube::Json;
using Flavor = Observed::Queue::Flavor;

bool HasQuota(const kube::QueuedWorkload& workload) {
  return workload.IsTrue(kWorkloadAdmitted) && !workload.IsTrue(kWorkloadEvicted) &&
         !workload.IsTrue(kWorkloadFinished) && !workload.meta.deletion_requested_at;
}

std::optional<Role> FindPodSetRole(const std::string& name) {
  for (const Role role : api::kRoles) {
    if (name == api::FieldName(role)) return role;
  }
  return std::nullopt;
}

void AddTolerations(const Json& tolerations, Json* pod) {
  for (const Json& toleration : tolerations) (*pod)["spec"]["tolerations"].push_back(toleration);
}

void AddMembers(const Json& members, const char* part, const char* field, Json* pod) {
  for (const auto& [name, value] : members.items()) (*pod)[part][field][name] = value;
}

// Adds the gate, the label and the annotations by which Kueue 0.19 places pods in a topology (pkg/podset,
// pkg/controller/tas). Kueue finds the pods by the Workload's name and the name of the pod set.
void AddGate(const kube::QueuedWorkload& workload, const std::string& pod_set, Json* pod) {
  (*pod)["metadata"]["labels"]["kueue.x-k8s.io/podset"] = pod_set;
  Json& annotations = (*pod)["metadata"]["annotations"];
  annotations["kueue.x-k8s.io/workload"] = workload.meta.key.name;
  if (workload.topology_requested.count(pod_set) == 0)
    annotations[resources::kUnconstrainedTopologyAnnotation] = "true";
  (*pod)["spec"]["schedulingGates"] = Json::array({{{"name", "kueue.x-k8s.io/topology"}}});
}

// Returns whether the Workload's remaining quota is enough for the trainer pods of the document. `count` is the number
// of pods of the Workload's trainer pod set. If no quota of trainers was given back, the admission may be for fewer
// pods than the document asks for, down to MinTrainerPods.
bool CoversTrainers(const kube::QueuedWorkload& workload, int64_t count, const api::Spec& spec) {
  const int64_t wanted = resources::CountPods(spec, Role::kTrainer);
  const int64_t reclaimable = workload.CountReclaimable(kTrainerPodSet);
  const auto* const assignment = workload.FindAssignment(kTrainerPodSet);
  const int64_t admitted = assignment == nullptr ? count : assignment->count.value_or(count);
  const int64_t left = std::min(admitted, count - reclaimable);
  if (wanted <= left) return true;
  return reclaimable == 0 && wanted <= count && resources::MinTrainerPods(spec).value_or(wanted) <= left;
}

// Returns whether the Workload's pod sets differ from those of the document at most in the number of trainers.
// `trainers` and `inputs` are the Workload's.
bool DiffersOnlyInTrainers(const kube::QueuedWorkload::PodSet& trainers, const std::string& inputs,
                           const resources::Context& context) {
  const auto matches = [&](std::optional<int64_t> least) {
    return inputs == resources::InputsOfQueuedWorkload(context, {.count = trainers.count, .least = least});
  };
  // If the document's minimum equals the number of trainers, the inputs contain it, but the pod set has no minCount.
  return matches(trainers.min_count) || (!trainers.min_count && matches(trainers.count));
}

}  // namespace

bool IsQueued(const api::DistTraining& training) {
  return !resources::FindLabel(training, resources::kQueueLabel).empty();
}

bool IsQueueKnown(const Observed& seen) { return seen.queue.is_enabled && seen.queue.list_error.empty(); }

const kube::QueuedWorkload* FindWorkload(const api::DistTraining& training, const Observed& seen) {
  for (const auto& workload : seen.queue.workloads) {
    if (IsOurs(workload->meta, training)) return workload.get();
  }
  return nullptr;
}

bool IsOutdated(const kube::QueuedWorkload& workload, const api::DistTraining& training, const api::Status& status,
                const Observed& seen) {
  if (!IsAccepted(training, seen)) return false;
  if (workload.queue != resources::FindLabel(training, resources::kQueueLabel)) return true;
  if (workload.max_execution_seconds != resources::MaxExecutionSeconds(training)) return true;
  const auto inputs = workload.meta.annotations.find(resources::kInputsAnnotation);
  const resources::Context context{.training = training, .status = status};
  if (inputs == workload.meta.annotations.end()) return true;
  const auto* const trainers = workload.FindPodSet(kTrainerPodSet);
  if (!workload.IsTrue(kWorkloadQuotaReserved) || trainers == nullptr) {
    return inputs->second != resources::InputsOfQueuedWorkload(context);
  }
  return !DiffersOnlyInTrainers(*trainers, inputs->second, context) ||
         !CoversTrainers(workload, trainers->count, *training.spec);
}

bool AwaitsQuota(const api::DistTraining& training, const api::Status& status, const Observed& seen) {
  if (!IsQueued(training)) return false;
  if (!IsQueueKnown(seen)) return !status.started_at || api::IsTrue(status, api::kSuspended);
  const kube::QueuedWorkload* const workload = FindWorkload(training, seen);
  return workload == nullptr || !HasQuota(*workload) || IsOutdated(*workload, training, status, seen);
}

std::optional<int64_t> AdmittedTrainers(const api::DistTraining& training, const Observed& seen) {
  const kube::QueuedWorkload* const workload = FindWorkload(training, seen);
  const auto* const assignment = workload == nullptr ? nullptr : workload->FindAssignment(kTrainerPodSet);
  if (assignment == nullptr || !assignment->count || !training.spec) return std::nullopt;
  return *assignment->count * int64_t{training.spec->job.trainer_containers_per_pod};
}

std::vector<std::string> AdmittedFlavors(const api::DistTraining& training, const Observed& seen) {
  const kube::QueuedWorkload* const workload = IsQueued(training) ? FindWorkload(training, seen) : nullptr;
  if (workload == nullptr) return {};
  std::set<std::string> names;
  for (const auto& assignment : workload->assignments)
    names.insert(assignment.flavors.begin(), assignment.flavors.end());
  return {names.begin(), names.end()};
}

Placements FindPlacements(const api::DistTraining& training, const Observed& seen) {
  Placements placements;
  const kube::QueuedWorkload* const workload = FindWorkload(training, seen);
  if (workload == nullptr) return placements;
  for (const auto& assignment : workload->assignments) {
    const std::optional<Role> role = FindPodSetRole(assignment.pod_set);
    if (!role) continue;
    Json pod = Json::object();
    for (const std::string& name : assignment.flavors) {
      const auto flavor = seen.queue.flavors.find(name);
      if (flavor == seen.queue.flavors.end() || !flavor->second.error.empty()) {
        placements.missing = "ResourceFlavor " + name + ": " +
                             (flavor == seen.queue.flavors.end() ? "not read yet" : flavor->second.error);
        continue;
      }
      AddMembers(flavor->second.node_labels, "spec", "nodeSelector", &pod);
      AddTolerations(flavor->second.tolerations, &pod);
    }
    for (const auto& update : workload->updates) {
      if (update.pod_set != assignment.pod_set) continue;
      AddMembers(update.labels, "metadata", "labels", &pod);
      AddMembers(update.annotations, "metadata", "annotations", &pod);
      AddMembers(update.node_selector, "spec", "nodeSelector", &pod);
      AddTolerations(update.tolerations, &pod);
    }
    if (assignment.has_topology) AddGate(*workload, assignment.pod_set, &pod);
    if (!pod.empty()) placements.by_role[*role] = std::move(pod);
  }
  return placements;
}

}  // namespace espalier::ctl::plan
