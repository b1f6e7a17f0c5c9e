// A pod as a member of its job: whose number it is.
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
  int64_t rank = 0;     // of a trainer or sampler; of a server: its partition
  int64_t attempt = 0;  // the trainers' incarnation, the partitioner's attempt; 0: of servers and samplers
};

// By the labels that operator and controllers write; nullopt for a pod that is no role's.
std::optional<JobPod> ToJobPod(kube::Pod pod);

// "trainer-0"
std::string MakeLabel(const JobPod& member);

// The containers that run the role's program (api/program_container.h), the first one first; those of which the kubelet
// has said anything.
std::vector<const kube::ContainerState*> ProgramContainers(const JobPod& member);

// A role by its name. InvalidArgument lists them all.
Result<api::Role> RoleNamed(const std::string& name);

}  // namespace espalier::ctl::view
