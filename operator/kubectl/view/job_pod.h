// A pod as a member of its job: whose number it is.
#pragma once

#include <optional>
#include <string>

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
std::optional<JobPod> JobPodOf(kube::Pod pod);

// "trainer-0"
std::string LabelOf(const JobPod& member);

// The container of ours; null before the kubelet has said anything about it.
const kube::ContainerState* MainContainer(const JobPod& member);

// A role by its name. InvalidArgument lists them all.
Result<api::Role> RoleNamed(const std::string& name);

}  // namespace espalier::ctl::view
