#include "operator/kube/testing/workload_controllers.h"

#include <algorithm>

namespace espalier::ctl::kube::testing {
namespace {

bool IsBeingDeleted(const Pod& pod) { return pod.meta.deletion_requested_at.has_value(); }

// Returns whether Kubernetes counts the pod as active: it has not ended and is not being deleted.
bool IsActive(const Pod& pod) { return !HasEnded(pod) && !IsBeingDeleted(pod); }

// Appends the indexes below `wanted` without a pod.
void ListMissing(std::span<const WorkloadPod> pods, int64_t wanted, std::vector<int64_t>* missing) {
  for (int64_t index = 0; index < wanted; ++index) {
    const bool has_pod =
        std::any_of(pods.begin(), pods.end(), [index](const WorkloadPod& pod) { return pod.index == index; });
    if (!has_pod) missing->push_back(index);
  }
}

// Counts the ends of pods that no earlier decision counted.
void CountEnds(std::span<const WorkloadPod> pods, JobDecision* decision) {
  for (const auto& [pod, index, is_counted] : pods) {
    if (is_counted) continue;
    const bool succeeded = pod->phase == PodPhase::kSucceeded;
    const bool is_suspended = decision->job.suspended && !HasEnded(*pod);  // not a failure
    if (is_suspended || succeeded || !IsActive(*pod)) decision->counted.push_back(pod);
    if (is_suspended) continue;
    if (succeeded) {
      ++decision->job.succeeded;
    } else if (!IsActive(*pod)) {
      ++decision->job.failed;
    }
  }
}

}  // namespace

JobDecision DecideJob(const Job& job, std::span<const WorkloadPod> pods, WallTime now) {
  JobDecision decision{.job = job};
  Job& next = decision.job;
  CountEnds(pods, &decision);
  next.active = std::count_if(pods.begin(), pods.end(), [](const WorkloadPod& pod) { return IsActive(*pod.pod); });
  next.ready = std::count_if(pods.begin(), pods.end(),
                             [](const WorkloadPod& pod) { return IsActive(*pod.pod) && pod.pod->ready; });
  const bool is_over = job.meta.deletion_requested_at || job.complete || job.has_failed;
  const bool deletes_pods = job.suspended || (!is_over && next.failed > 0);
  for (const WorkloadPod& pod : pods) {
    if (deletes_pods && IsActive(*pod.pod)) decision.deletions.push_back(pod.pod);
  }
  if (is_over) return decision;
  if (next.failed > 0) {
    if (!decision.deletions.empty()) return decision;
    next.failure_target = true;
    next.failure_reason = "BackoffLimitExceeded";
    next.has_failed = std::all_of(pods.begin(), pods.end(), [](const WorkloadPod& pod) { return HasEnded(*pod.pod); });
  } else if (next.succeeded >= job.completions) {
    next.complete = true;
    next.completed_at = std::chrono::floor<std::chrono::seconds>(now);
  } else if (!job.suspended) {
    ListMissing(pods, job.completions, &decision.missing);
  }
  return decision;
}

StatefulSetDecision DecideStatefulSet(const StatefulSet& set, std::span<const WorkloadPod> pods) {
  StatefulSetDecision decision{.set = set};
  decision.set.observed_generation = set.meta.generation;
  decision.set.current = static_cast<int64_t>(pods.size());
  decision.set.ready = std::count_if(pods.begin(), pods.end(), [](const WorkloadPod& pod) { return pod.pod->ready; });
  if (set.meta.deletion_requested_at) return decision;
  for (const WorkloadPod& pod : pods) {
    const bool is_unwanted = pod.index >= set.wanted || pod.pod->phase == PodPhase::kFailed;
    if (is_unwanted && !IsBeingDeleted(*pod.pod)) decision.deletions.push_back(pod.pod);
  }
  ListMissing(pods, set.wanted, &decision.missing);
  return decision;
}

}  // namespace espalier::ctl::kube::testing
