// There is one StatefulSet of servers per replica, with one pod per partition, and one StatefulSet of samplers. A
// StatefulSet is applied if it is missing, its inputs have changed or another writer has changed its number of pods.
// ServersReady is True when all pods are ready; restarted trainers may begin before that (ApplyServers).
#include "operator/plan/server_stage.h"

#include <functional>

#include "operator/plan/acceptance.h"
#include "operator/plan/blockers.h"
#include "operator/plan/gangs.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Role;

bool IsReady(const World& world, const kube::StatefulSet& set, int64_t wanted) {
  return set.wanted == wanted && set.observed_generation >= set.meta.generation &&
         world.CountReadyPods(set) >= wanted && !set.meta.deletion_requested_at;
}

// Applies the StatefulSet if it is missing or outdated, or if another writer has changed its number of pods. Returns
// whether it is as wanted and all its pods are ready.
bool ApplySet(PlanBuilder& builder, const std::string& name, const std::string& inputs, int64_t wanted,
              const std::function<kube::Json()>& build) {
  const kube::StatefulSet* existing = nullptr;
  for (const kube::StatefulSet* set : builder.world().server_sets()) {
    if (set->meta.key.name == name) existing = set;
  }
  const kube::StatefulSet* samplers = builder.world().sampler_set();
  if (samplers != nullptr && samplers->meta.key.name == name) existing = samplers;
  if (existing != nullptr && existing->wanted != wanted) {
    builder.ApplyAgain(kube::kStatefulSets, build());
  } else {
    builder.Apply(kube::kStatefulSets, name, inputs, build);
  }
  return existing != nullptr && IsReady(builder.world(), *existing, wanted);
}

struct ServerReadiness {
  bool all = true;
  bool enough = true;  // for the trainers to begin
};

// The first incarnation of the trainers begins when all servers are ready. Later incarnations need only the servers of
// replica 0, which serve all partitions and hold the writable data. Clients connect to the servers of other replicas
// when these are back.
ServerReadiness ApplyServers(PlanBuilder& builder) {
  if (!PlanGang(builder, Role::kServer)) return {.all = false, .enough = false};
  const job::DistTraining& wanted = builder.spec().job;
  const resources::Context context = builder.context();
  const std::string inputs = resources::InputsOfServerSet(context, /*scaled_to_zero=*/false);
  ServerReadiness readiness;
  for (uint32_t replica = 0; replica < wanted.server_replicas_per_partition; ++replica) {
    const auto build = [&] { return resources::ServerSet(context, replica, /*scaled_to_zero=*/false); };
    const std::string name = resources::ServerSetName(builder.name(), replica);
    if (ApplySet(builder, name, inputs, wanted.graph.partitions.count, build)) continue;
    readiness.all = false;
    if (replica == 0 || builder.status().incarnation == 0) readiness.enough = false;
  }
  return readiness;
}

bool ApplySamplers(PlanBuilder& builder) {
  const uint32_t wanted = builder.spec().job.sampler_replicas;
  if (wanted > 0) {
    if (!PlanGang(builder, Role::kSampler)) return false;
    const resources::Context context = builder.context();
    return ApplySet(builder, resources::SamplerSetName(builder.name()),
                    resources::InputsOfSamplerSet(context, /*scaled_to_zero=*/false), wanted,
                    [&] { return resources::SamplerSet(context, /*scaled_to_zero=*/false); });
  }
  // The document is checked here, because PlanBuilder::BlockChanges does not block deletions. Samplers must stay while
  // the document is not accepted: running trainers connect to them by name.
  const kube::StatefulSet* samplers = builder.world().sampler_set();
  const bool may_delete = IsAccepted(builder.training(), builder.seen());
  if (samplers != nullptr && may_delete) builder.Delete(kube::kStatefulSets, samplers->meta);
  return true;
}

std::string ReadyCountText(const PlanBuilder& builder) {
  int64_t servers = 0;
  for (const kube::StatefulSet* set : builder.world().server_sets()) servers += builder.world().CountReadyPods(*set);
  const kube::StatefulSet* samplers = builder.world().sampler_set();
  std::string text = std::to_string(servers) + " servers ready";
  if (samplers != nullptr) text += ", " + std::to_string(builder.world().CountReadyPods(*samplers)) + " samplers ready";
  return text;
}

}  // namespace

bool Serve(PlanBuilder& builder) {
  const ServerReadiness servers = ApplyServers(builder);
  const bool samplers_are_ready = ApplySamplers(builder);
  const resources::Context context = builder.context();
  builder.Apply(kube::kPodDisruptionBudgets, resources::DisruptionBudgetName(builder.name()),
                resources::InputsOfShared(context), [&] { return resources::DisruptionBudget(context); });
  if (servers.all && samplers_are_ready) {
    builder.SetCondition(api::kServersReady, ConditionStatus::kTrue, kAllReady, ReadyCountText(builder));
    return true;
  }
  std::optional<Blocker> blocker;
  if (!servers.all) blocker = BlockerFor(builder, Role::kServer);
  if (!blocker && !samplers_are_ready) blocker = BlockerFor(builder, Role::kSampler);
  if (blocker) {
    builder.SetCondition(api::kServersReady, ConditionStatus::kFalse, blocker->reason, blocker->message);
  } else {
    builder.SetCondition(api::kServersReady, ConditionStatus::kFalse,
                         builder.status().incarnation > 0 ? kNotAllReady : kStarting, ReadyCountText(builder));
  }
  return servers.enough && samplers_are_ready;
}

}  // namespace espalier::ctl::plan
