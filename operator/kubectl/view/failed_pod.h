// The pod that explains why a job has failed, or is held up.
#pragma once

#include <optional>
#include <vector>

#include "operator/kubectl/view/job_pod.h"

namespace espalier::ctl::view {

struct FailedPod {
  JobPod member;
  std::string container;                    // the one that failed
  std::optional<kube::ContainerEnd> ended;  // how; none: it does not start
  bool has_restarted = false;               // there is a log of the container before, too
  std::string waiting;                      // "CrashLoopBackOff: back-off 40s ..."
};

// The one that status.lastError names; else the one with the strongest reason, or one that waits for what does not
// come. nullopt: none of those that are there.
std::optional<FailedPod> FindFailedPod(const api::DistTraining& training, const std::vector<JobPod>& members);

}  // namespace espalier::ctl::view
