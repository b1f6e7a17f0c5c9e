// One PodGroup per role, because kube-scheduler requires that all pods of a group have the same priority and scheduler,
// which roles may set differently. The name of a Job's PodGroup contains the attempt or incarnation, so that a new
// group of pods has a new PodGroup.
//
// The template of a Job or StatefulSet says whether its pods are members of a group. The plan decides this when it
// creates the Job or StatefulSet, and does not change it as long as that object has pods. So existing pods are not
// affected if the PodGroup API is added to the cluster or removed from it.
//
// All pods of a Job must run at the same time, so minCount of its PodGroup is the number of its pods. Servers and
// samplers are replaced one by one after a failure. Their minCount is the number of pods only until they have been
// scheduled together; then it is 1, so that the replacement of a pod does not wait for other pods.
#include "operator/plan/gangs.h"

#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using api::Role;

// No watch reports a change of permissions.
constexpr std::chrono::seconds kPodGroupRetryInterval{10};

bool AreGroupsListed(const Observed::Gangs& gangs) {
  return gangs.is_enabled && !gangs.is_missing && gangs.list_error.empty();
}

const kube::Job* FindJobOfRole(const PlanBuilder& builder, Role role) {
  const api::Status& status = builder.status();
  return role == Role::kPartitioner ? builder.world().partition_run(status.partition_attempt).job
                                    : builder.world().trainer_run(status.incarnation).job;
}

// Returns the name of the PodGroup in the template of the role's Job or StatefulSet, or "" if it names none. Returns
// nullopt if the role has no current Job, and no StatefulSet with more than 0 replicas.
std::optional<std::string> FindExistingGroup(const PlanBuilder& builder, Role role) {
  if (role == Role::kPartitioner || role == Role::kTrainer) {
    const kube::Job* const job = FindJobOfRole(builder, role);
    return job == nullptr ? std::nullopt : std::optional(job->pod_group);
  }
  if (role == Role::kSampler) {
    const kube::StatefulSet* const samplers = builder.world().sampler_set();
    return samplers == nullptr || samplers->wanted == 0 ? std::nullopt : std::optional(samplers->pod_group);
  }
  for (const kube::StatefulSet* const set : builder.world().server_sets()) {
    if (set->wanted > 0) return set->pod_group;
  }
  return std::nullopt;
}

int64_t CountMembers(const PlanBuilder& builder, Role role) {
  if (role != Role::kTrainer) return resources::CountPods(builder.spec(), role);
  return resources::CountTrainerPods(builder.spec(), builder.status().trainer_replicas);
}

// Returns whether the document's pod template names a PodGroup.
bool HasUserGroup(const PlanBuilder& builder, Role role) {
  return kube::Find(builder.spec().role(role).pod_template, {"spec", "schedulingGroup"}) != nullptr;
}

bool ShouldBeGang(const PlanBuilder& builder, Role role) {
  const Observed::Gangs& gangs = builder.seen().gangs;
  return gangs.is_enabled && !gangs.is_missing && builder.spec().gangs && CountMembers(builder, role) > 1 &&
         !HasUserGroup(builder, role);
}

const kube::PodGroup* FindGroup(const PlanBuilder& builder, const std::string& name) {
  for (const auto& group : builder.seen().gangs.groups) {
    if (group->meta.key.name == name && IsOurs(group->meta, builder.training())) return group.get();
  }
  return nullptr;
}

std::string CurrentName(const PlanBuilder& builder, Role role) {
  return resources::CurrentPodGroupName(builder.context(), role);
}

int64_t MinCount(const PlanBuilder& builder, Role role, const std::string& name) {
  const kube::PodGroup* const group = FindGroup(builder, name);
  const bool is_replaced_one_by_one = role == Role::kServer || role == Role::kSampler;
  if (is_replaced_one_by_one && group != nullptr && group->was_scheduled()) return 1;
  return CountMembers(builder, role);
}

bool ApplyGroup(PlanBuilder& builder, Role role) {
  const std::string name = CurrentName(builder, role);
  const int64_t min_count = MinCount(builder, role, name);
  const resources::Context context = builder.context();
  return builder.Apply(kube::kPodGroups, name, resources::InputsOfPodGroup(context, min_count),
                       [&] { return resources::PodGroup(context, role, min_count); });
}

}  // namespace

bool PlanGang(PlanBuilder& builder, Role role) {
  const Observed::Gangs& gangs = builder.seen().gangs;
  const std::optional<std::string> existing = FindExistingGroup(builder, role);
  if (existing ? *existing != CurrentName(builder, role) : !ShouldBeGang(builder, role)) return true;
  if (!existing && !gangs.list_error.empty()) {
    builder.BlockChanges({.reason = kPodGroupsUnavailable,
                          .message = "PodGroups cannot be listed (" + gangs.list_error +
                                     "): set gangScheduling.enabled of the chart, which grants the permissions, or "
                                     "spec.scheduling.gang to Never"});
    builder.RequeueAfter(kPodGroupRetryInterval);
    return false;
  }
  builder.AddGang(role);
  const bool has_group = !AreGroupsListed(gangs) || ApplyGroup(builder, role);
  return existing || has_group;
}

void DeleteOldGangs(PlanBuilder& builder) {
  const api::Status& status = builder.status();
  for (const auto& group : builder.seen().gangs.groups) {
    const std::string& name = group->meta.key.name;
    if (!IsOurs(group->meta, builder.training())) continue;
    const auto attempt = ParseNumberInName(name, builder.name(), resources::PartitionJobName);
    const auto incarnation = ParseNumberInName(name, builder.name(), resources::TrainerJobName);
    const bool is_old = (attempt && (*attempt != status.partition_attempt || status.partition)) ||
                        (incarnation && *incarnation != status.incarnation);
    if (is_old) builder.Delete(kube::kPodGroups, group->meta);
  }
}

void DeleteGangs(PlanBuilder& builder) {
  for (const auto& group : builder.seen().gangs.groups) {
    if (IsOurs(group->meta, builder.training())) builder.Delete(kube::kPodGroups, group->meta);
  }
}

std::optional<Blocker> FindGangBlocker(const PlanBuilder& builder, Role role) {
  const std::optional<std::string> existing = FindExistingGroup(builder, role);
  const kube::PodGroup* const group = existing ? FindGroup(builder, *existing) : nullptr;
  if (group == nullptr || !group->scheduled || group->scheduled->is_true()) return std::nullopt;
  return Blocker{.reason = kUnschedulable,
                 .message = "the " + std::to_string(group->min_count) + " pods of spec." + api::FieldName(role) +
                            " start together or not at all, and wait for free nodes: PodGroup " + *existing + ": " +
                            group->scheduled->message};
}

}  // namespace espalier::ctl::plan
