// The decisions of Kubernetes' Job and StatefulSet controllers as pure functions. Both simulations of a cluster use
// them: plan/testing, which holds values, and operator/testing, which holds the objects of an API server.
#pragma once

#include <span>
#include <vector>

#include "operator/kube/pod.h"
#include "operator/kube/workload.h"

namespace espalier::ctl::kube::testing {

// A pod that a Job or StatefulSet controls.
struct WorkloadPod {
  const Pod* pod = nullptr;  // not null; outlives the decision
  int64_t index = 0;         // completion index of a Job's pod, ordinal of a StatefulSet's
  bool is_counted = false;   // of a Job: an earlier decision counted it
};

// What a controller does next. Pointers are those of its arguments.
struct JobDecision {
  Job job;                            // with its new status
  std::vector<const Pod*> counted;    // pods that later decisions must not count again
  std::vector<const Pod*> deletions;  // to delete; not yet being deleted
  std::vector<int64_t> missing;       // completion indexes to make pods for
};
struct StatefulSetDecision {
  StatefulSet set;  // with its new status; `current` does not include `missing`
  std::vector<const Pod*> deletions;
  std::vector<int64_t> missing;  // ordinals to make pods for
};

// Decides for an Indexed Job with backoffLimit 0, without podFailurePolicy and podReplacementPolicy. A failed pod
// counts once, and so does a pod that is being deleted, unless the Job is suspended. After one failure the other pods
// are deleted first. FailureTarget is written when all are being deleted, and Failed when the last one has ended.
JobDecision DecideJob(const Job& job, std::span<const WorkloadPod> pods, WallTime now);

// Decides for a StatefulSet with podManagementPolicy Parallel and updateStrategy OnDelete. A pod's ordinal is free
// again only when the pod is gone. A pod that has failed is replaced.
StatefulSetDecision DecideStatefulSet(const StatefulSet& set, std::span<const WorkloadPod> pods);

// Returns whether all containers of the pod have ended.
inline bool HasEnded(const Pod& pod) { return pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed; }

}  // namespace espalier::ctl::kube::testing
