// Finds the pod that explains why a job has failed or does not proceed.
#pragma once

#include <optional>
#include <vector>

#include "operator/kubectl/view/job_pod.h"

namespace espalier::ctl::view {

struct FailedPod {
  JobPod member;
  std::string container;                    // the container that failed
  std::optional<kube::ContainerEnd> ended;  // how it ended; nullopt: it does not start
  bool has_restarted = false;               // the log of the previous container exists, too
  std::string waiting;                      // "CrashLoopBackOff: back-off 40s ..."
};

// Returns the pod that status.lastError names; else the pod with the strongest failure, or one that is stuck. nullopt:
// no existing pod explains the state.
std::optional<FailedPod> FindFailedPod(const api::DistTraining& training, const std::vector<JobPod>& members);

}  // namespace espalier::ctl::view
