#include <functional>

#include "operator/plan/stages.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Role;

bool IsReady(const World& world, const kube::StatefulSet& set, int64_t wanted) {
  return set.wanted == wanted && set.observed_generation >= set.meta.generation && world.ReadyPodsOf(set) >= wanted &&
         !set.meta.deletion_requested_at;
}

// True once it is as it should be and all its pods are ready. Someone else's idea of its replicas does not last.
bool Keep(Draft& draft, const std::string& name, const std::string& inputs, int64_t wanted,
          const std::function<kube::Json()>& build) {
  const kube::StatefulSet* there = nullptr;
  for (const kube::StatefulSet* set : draft.world().server_sets()) {
    if (set->meta.key.name == name) there = set;
  }
  const kube::StatefulSet* samplers = draft.world().sampler_set();
  if (samplers != nullptr && samplers->meta.key.name == name) there = samplers;
  if (there != nullptr && there->wanted != wanted) {
    draft.ApplyAgain(kube::kStatefulSets, build());
  } else {
    draft.Apply(kube::kStatefulSets, name, inputs, build);
  }
  return there != nullptr && IsReady(draft.world(), *there, wanted);
}

struct ServersThere {
  bool all = true;
  bool enough = true;
};

// Trainers begin once all are there. Those of a later incarnation need the first group, which holds what can be
// written: it serves all partitions, and whoever reads finds those of the other groups as they come back.
ServersThere KeepServers(Draft& draft) {
  const job::DistTraining& wanted = draft.spec().job;
  const resources::Context context = draft.context();
  const std::string inputs = resources::InputsOfServerSet(context, /*scaled_to_zero=*/false);
  ServersThere there;
  for (uint32_t replica = 0; replica < wanted.server_replicas_per_partition; ++replica) {
    const auto build = [&] { return resources::ServerSet(context, replica, /*scaled_to_zero=*/false); };
    const std::string name = resources::ServerSetName(draft.name(), replica);
    if (Keep(draft, name, inputs, wanted.graph.partitions.count, build)) continue;
    there.all = false;
    if (replica == 0 || draft.status().incarnation == 0) there.enough = false;
  }
  return there;
}

bool KeepSamplers(Draft& draft) {
  const uint32_t wanted = draft.spec().job.sampler_replicas;
  if (wanted > 0) {
    const resources::Context context = draft.context();
    return Keep(draft, resources::SamplerSetName(draft.name()),
                resources::InputsOfSamplerSet(context, /*scaled_to_zero=*/false), wanted,
                [&] { return resources::SamplerSet(context, /*scaled_to_zero=*/false); });
  }
  // Not for a document that may still be refused: trainers that run know them by name.
  const kube::StatefulSet* samplers = draft.world().sampler_set();
  const bool may_go = IsAccepted(draft.training(), draft.seen());
  if (samplers != nullptr && may_go) draft.Delete(kube::kStatefulSets, samplers->meta);
  return true;
}

std::string Census(const Draft& draft) {
  int64_t servers = 0;
  for (const kube::StatefulSet* set : draft.world().server_sets()) servers += draft.world().ReadyPodsOf(*set);
  const kube::StatefulSet* samplers = draft.world().sampler_set();
  std::string text = std::to_string(servers) + " servers ready";
  if (samplers != nullptr) text += ", " + std::to_string(draft.world().ReadyPodsOf(*samplers)) + " samplers";
  return text;
}

}  // namespace

bool Serve(Draft& draft) {
  const ServersThere servers = KeepServers(draft);
  const bool samplers_are_ready = KeepSamplers(draft);
  const resources::Context context = draft.context();
  draft.Apply(kube::kPodDisruptionBudgets, resources::DisruptionBudgetName(draft.name()),
              resources::InputsOfShared(context), [&] { return resources::DisruptionBudget(context); });
  if (servers.all && samplers_are_ready) {
    draft.Set(api::kServersReady, ConditionStatus::kTrue, kAllReady, Census(draft));
    return true;
  }
  std::optional<Trouble> trouble;
  if (!servers.all) trouble = TroubleOf(draft, Role::kServer);
  if (!trouble && !samplers_are_ready) trouble = TroubleOf(draft, Role::kSampler);
  if (trouble) {
    draft.Set(api::kServersReady, ConditionStatus::kFalse, trouble->reason, trouble->message);
  } else {
    draft.Set(api::kServersReady, ConditionStatus::kFalse, draft.status().incarnation > 0 ? kNotAllReady : kStarting,
              Census(draft));
  }
  return servers.enough && samplers_are_ready;
}

}  // namespace espalier::ctl::plan
