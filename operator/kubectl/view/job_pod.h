// A pod with its role and rank in its job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/api/dist_training.h"
#include "operator/kube/pod.h"

namespace espalier::ctl::view {

struct JobPod {
  kube::Pod pod;
  api::Role role = api::Role::kTrainer;
  // The pod's number in its role: the partition of a server, the rank of a trainer if its pod has only one trainer.
  int64_t rank = 0;
  int64_t attempt = 0;  // the trainers' incarnation or the partitioner's attempt; 0 for servers and samplers
};

// Returns the pod with its role, rank and attempt, read from its labels and name; nullopt for a pod without a role.
std::optional<JobPod> ToJobPod(kube::Pod pod);

// Returns the name of the pod in output, such as "trainer-0".
std::string MakeDisplayName(const JobPod& member);

// Returns the containers that run the role's program (api/program_container.h), in the order of their numbers. Those
// that the kubelet has not reported yet are missing.
std::vector<const kube::ContainerState*> ProgramContainers(const JobPod& member);

// Returns the role with this name, or InvalidArgument with the list of roles.
Result<api::Role> ParseRole(const std::string& name);

}  // namespace espalier::ctl::view
