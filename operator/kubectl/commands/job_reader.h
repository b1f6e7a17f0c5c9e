// Reads a job and its pods and events from the API server.
#pragma once

#include <string>
#include <vector>

#include "operator/kubectl/commands/command_context.h"
#include "operator/kubectl/view/job_event.h"
#include "operator/kubectl/view/job_pod.h"

namespace espalier::ctl::kubectl {

// Returns the job, or NotFound with its name and namespace. Other errors are those of ApiClient and ParseDistTraining.
Result<api::DistTraining> ReadJob(const CommandContext& context, const std::string& name);
// Returns the jobs of a namespace, or of all namespaces if `name_space` is "", sorted by namespace and name. Objects
// that cannot be parsed are left out.
Result<std::vector<api::DistTraining>> ReadJobs(const CommandContext& context, const std::string& name_space);

// Returns the job's pods that have a role, sorted by role, rank and attempt.
Result<std::vector<view::JobPod>> ReadPods(const CommandContext& context, const std::string& job);

// Returns the newest `count` events about the DistTraining itself, oldest first.
Result<std::vector<view::JobEvent>> ReadJobEvents(const CommandContext& context, const api::DistTraining& training,
                                                  size_t count);
// Returns the newest `count` Warning events about the job, its children, `pods` and the pod of status.lastError, oldest
// first.
Result<std::vector<view::JobEvent>> ReadWarnings(const CommandContext& context, const api::DistTraining& training,
                                                 const std::vector<view::JobPod>& pods, size_t count);

}  // namespace espalier::ctl::kubectl
