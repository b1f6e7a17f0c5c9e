// A job and what belongs to it, read from the API server.
#pragma once

#include <string>
#include <vector>

#include "operator/kubectl/commands/surroundings.h"
#include "operator/kubectl/view/job_event.h"
#include "operator/kubectl/view/job_pod.h"

namespace espalier::ctl::kubectl {

// NotFound says that there is no such job; errors of other kinds are ApiClient's.
Result<api::DistTraining> ReadJob(const Surroundings& around, const std::string& name);
// In order of namespace and name. Objects that are no DistTrainings at all are left out.
Result<std::vector<api::DistTraining>> ReadJobs(const Surroundings& around, const std::string& name_space);

// In order of role, rank and attempt.
Result<std::vector<view::JobPod>> ReadPods(const Surroundings& around, const std::string& job);

// About the DistTraining itself, the newest `count`, oldest first.
Result<std::vector<view::JobEvent>> ReadJobEvents(const Surroundings& around, const api::DistTraining& training,
                                                  size_t count);
// Warnings about the job, its children and these pods: likewise.
Result<std::vector<view::JobEvent>> ReadWarnings(const Surroundings& around, const api::DistTraining& training,
                                                 const std::vector<view::JobPod>& pods, size_t count);

}  // namespace espalier::ctl::kubectl
