// Finds the pod that explains why a job has failed or does not proceed.
#pragma once

#include <optional>
#include <vector>

#include "operator/kubectl/view/job_pod.h"

namespace espalier::ctl::view {

struct FailedPod {
  JobPod member;
  std::string container;                    // the container that explains the state
  std::optional<kube::ContainerEnd> ended;  // how it failed; nullopt if it has not, for example because it cannot start
  bool has_restarted = false;               // the log of the previous container exists, too
  std::string waiting;                      // "CrashLoopBackOff: back-off 40s ..."
};

// Returns the pod that status.lastError names, or nullopt if it no longer exists. If lastError names none, returns the
// pod with the strongest failure, or else one that is stuck or not scheduled, or nullopt.
std::optional<FailedPod> FindFailedPod(const api::DistTraining& training, const std::vector<JobPod>& members);

}  // namespace espalier::ctl::view
