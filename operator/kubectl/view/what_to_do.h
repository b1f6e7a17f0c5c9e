// The last field of `kubectl espalier describe`: what the reader can do about the state of a job.
#pragma once

#include <optional>
#include <string>

#include "operator/kubectl/view/failed_pod.h"

namespace espalier::ctl::view {

// Progress older than this does not count as a sign that the trainers advance.
inline constexpr std::chrono::minutes kFreshProgress{5};

// Returns "nothing: ..." for a job that has succeeded. If no problem is known, also returns it for a job that is
// suspended on request, waits in a queue of Kueue, or has trainers that reported progress within kFreshProgress. For a
// known problem, returns the remedy; for a restart that the operator handles itself, why no action is needed. For any
// other job, returns what it waits for, since when, and where to look. `failed` is the pod that explains the state, if
// any.
std::string WhatToDo(const api::DistTraining& training, const std::optional<FailedPod>& failed, kube::WallTime now);

}  // namespace espalier::ctl::view
