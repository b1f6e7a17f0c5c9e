// One total function per child: from what the job wants to the object as it is applied. Pure. Every object has the job
// as its controller, our labels, and kInputsAnnotation.
#pragma once

#include <string>
#include <vector>

#include "operator/api/dist_training.h"
#include "operator/kube/json.h"
#include "operator/resources/job_defaults.h"

namespace espalier::ctl::resources {

// How a cluster's nodes get images; a role's template says more, or otherwise.
struct ImagePull {
  std::string policy = "IfNotPresent";
  std::vector<std::string> secrets = {};  // names, in the job's namespace
};

// What builders need besides the resource.
struct Context {
  const api::DistTraining& training;  // with a valid spec
  api::Status status;  // images, partition, incarnation, attempt, trainer_replicas as they are going to be written
  std::string cluster_domain = "cluster.local";
  ImagePull image_pull = {};
  const JobDefaults* defaults = nullptr;  // null: none; outlives this
};

// Ports of the pods; where several servers are in a pod (spec.servers.containersPerPod), each listens on ports that are
// as many higher as its number.
inline constexpr int kServerPort = 7000;
inline constexpr int kSamplerPort = 7100;
inline constexpr int kTrainerPort = 7200;  // rendezvous, or the ring's end
inline constexpr int kAdminPort = 9090;
static_assert(kServerPort + int{job::kMostContainersPerPod} <= kSamplerPort);

kube::Json Service(const Context& context);
kube::Json ServiceAccount(const Context& context);
kube::Json ConfigMap(const Context& context);         // job.json; of partitioner, servers and samplers
kube::Json TrainerConfigMap(const Context& context);  // job.json; immutable, of status.incarnation
kube::Json NetworkPolicy(const Context& context);
kube::Json DisruptionBudget(const Context& context);
kube::Json PartitionJob(const Context& context);  // of status.partition_attempt; indexed where there are several pods
kube::Json ServerSet(const Context& context, int64_t replica, bool scaled_to_zero);
kube::Json SamplerSet(const Context& context, bool scaled_to_zero);
kube::Json TrainerJob(const Context& context);  // of status.incarnation, with status.trainer_replicas trainers

// The kInputsAnnotation that an object would have, without building it.
std::string InputsOfShared(
    const Context& context);  // Service, ServiceAccount, ConfigMap, NetworkPolicy, DisruptionBudget
std::string InputsOfServerSet(const Context& context, bool scaled_to_zero);  // of every replica
std::string InputsOfSamplerSet(const Context& context, bool scaled_to_zero);

// The run's own folder: "<output.uri>/<name>-<first 8 of uid>".
std::string RunPrefix(const api::DistTraining& training);
// "<graph.partitions.uri>" or "<output.uri>/partitions".
std::string PartitionsPrefix(const api::DistTraining& training);

}  // namespace espalier::ctl::resources
