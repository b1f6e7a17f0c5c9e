// status.lastError names the failed pod if the operator knows it. Otherwise the pods are ranked by the operator's own
// rules (plan/failure.h). Among the containers of the selected pod, one that has failed comes first, then one that
// failed before its last restart, then one that is stuck; among equals, a program container comes first, and then the
// one whose failure ranks higher by the same rules.
#include "operator/kubectl/view/failed_pod.h"

#include <algorithm>
#include <utility>

#include "operator/api/program_container.h"
#include "operator/plan/blockers.h"
#include "operator/plan/failure.h"

namespace espalier::ctl::view {
namespace {

bool HasFailed(const std::optional<kube::ContainerEnd>& end) { return end && !end->succeeded(); }

// Returns whether the container cannot start. "ContainerCreating" and "PodInitializing" are in progress, not stuck.
bool IsStuck(const kube::ContainerState& container) {
  return container.waiting_reason.ends_with("BackOff") || container.waiting_reason.ends_with("Error") ||
         plan::IsImageProblem(container.waiting_reason);
}

// Returns how well a container explains its pod's failure; 0: not at all.
int Weight(const JobPod& member, const kube::ContainerState& container) {
  const int program_bonus = api::FindContainerNumber(member.role, container.name).has_value() ? 1 : 0;
  if (HasFailed(container.ended)) return 6 + program_bonus;
  if (HasFailed(container.last_ended)) return 4 + program_bonus;
  return IsStuck(container) ? 2 + program_bonus : 0;
}

// Returns the rank of the container's failure by the operator's rules (plan/failure.h).
CauseRank RankFailure(const JobPod& member, const kube::ContainerState& container) {
  const std::optional<kube::ContainerEnd>& end = HasFailed(container.ended) ? container.ended : container.last_ended;
  return HasFailed(end) ? plan::FindFailure(member.pod, container, *end).rank : CauseRank::kNone;
}

FailedPod MakeFailedPod(const JobPod& member) {
  FailedPod failed{.member = member, .container = api::ToString(member.role)};
  const auto strength = [&](const kube::ContainerState& container) {
    return std::pair(Weight(member, container), RankFailure(member, container));
  };
  const kube::ContainerState* worst = nullptr;
  for (const kube::ContainerState& container : member.pod.containers) {
    if (Weight(member, container) == 0) continue;
    if (worst == nullptr || strength(container) > strength(*worst)) worst = &container;
  }
  if (worst == nullptr) return failed;
  failed.container = worst->name;
  failed.ended = HasFailed(worst->ended)        ? worst->ended
                 : HasFailed(worst->last_ended) ? worst->last_ended
                                                : std::nullopt;
  failed.has_restarted = worst->restarts > 0;
  if (!worst->waiting_reason.empty()) {
    failed.waiting = worst->waiting_reason + (worst->waiting_message.empty() ? "" : ": " + worst->waiting_message);
  }
  return failed;
}

// Returns whether the pod is not scheduled, or a container has failed or is stuck.
bool IsRelevant(const JobPod& member) {
  return !member.pod.unscheduled_message.empty() ||
         std::any_of(member.pod.containers.begin(), member.pod.containers.end(),
                     [&](const kube::ContainerState& container) { return Weight(member, container) > 0; });
}

}  // namespace

std::optional<FailedPod> FindFailedPod(const api::DistTraining& training, const std::vector<JobPod>& members) {
  if (const auto& error = training.status.last_error; error && !error->pod.empty()) {
    for (const JobPod& member : members) {
      if (member.pod.meta.key.name == error->pod) return MakeFailedPod(member);
    }
    return std::nullopt;  // the pod that failed no longer exists, and another pod would not explain this error
  }
  const JobPod* strongest = nullptr;
  CauseRank highest = CauseRank::kNone;
  for (const JobPod& member : members) {
    const std::optional<plan::Failure> failure = plan::FindFailure(member.pod);
    if (!failure || failure->rank <= highest) continue;
    strongest = &member;
    highest = failure->rank;
  }
  if (strongest != nullptr) return MakeFailedPod(*strongest);
  const auto stuck = std::find_if(members.begin(), members.end(), IsRelevant);
  return stuck == members.end() ? std::nullopt : std::optional(MakeFailedPod(*stuck));
}

}  // namespace espalier::ctl::view
