// Builds the child objects of a job, one pure function per child. Each returns the object as it is applied, with the
// job as its controller, the labels of labels.h, and kInputsAnnotation.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/api/dist_training.h"
#include "operator/kube/json.h"
#include "operator/resources/job_defaults.h"

namespace espalier::ctl::resources {

// How nodes pull images. The template of a role may override it.
struct ImagePull {
  std::string policy = "IfNotPresent";
  std::vector<std::string> secrets = {};  // names, in the job's namespace
};

// The extended resource that NVIDIA's device plugin adds to nodes.
inline constexpr char kGpuResource[] = "nvidia.com/gpu";

// Input of the builders.
struct Context {
  const api::DistTraining& training;  // with a valid spec
  // As it will be written. Used: images, partition, partition_attempt, incarnation, trainer_replicas and script.
  api::Status status;
  std::string cluster_domain = "cluster.local";
  ImagePull image_pull = {};
  std::string gpu_resource = kGpuResource;  // extended resource of spec.trainers.gpus
  const JobDefaults* defaults = nullptr;    // null: none; must outlive this
  // What Kueue adds to the pods of a role at admission: partial PodTemplateSpecs, merged in last.
  std::map<api::Role, kube::Json> placements = {};
  // Roles whose pods are members of a PodGroup. A change of this set does not change existing children.
  std::set<api::Role> gangs = {};
};

// Ports of the pods. If a pod has several servers or trainers (containersPerPod), container n uses these ports plus n.
inline constexpr int kServerPort = 7000;
inline constexpr int kSamplerPort = 7100;
inline constexpr int kTrainerPort = 7200;  // rendezvous and ring
inline constexpr int kAdminPort = 9090;
static_assert(kServerPort + int{job::kMaxContainersPerPod} <= kSamplerPort);
static_assert(kTrainerPort + int{job::kMaxContainersPerPod} <= kAdminPort);

kube::Json Service(const Context& context);
kube::Json ServiceAccount(const Context& context);
kube::Json ConfigMap(const Context& context);         // job.json for partitioners and samplers
kube::Json TrainerConfigMap(const Context& context);  // job.json for the trainers of status.incarnation; immutable
kube::Json NetworkPolicy(const Context& context);
kube::Json DisruptionBudget(const Context& context);
kube::Json PartitionJob(const Context& context);  // of status.partition_attempt; indexed if there are several pods
// With `scaled_to_zero` a StatefulSet has no pods.
kube::Json ServerSet(const Context& context, int64_t replica, bool scaled_to_zero);
kube::Json SamplerSet(const Context& context, bool scaled_to_zero);
kube::Json TrainerJob(const Context& context);  // of status.incarnation, with status.trainer_replicas trainers
// Kueue's Workload of the job. It has one pod set per role that has pods, with the name of the role's field in the
// document, the number of the role's pods, and their template without placements. `priority` is the value of the
// WorkloadPriorityClass that kQueuePriorityLabel names; nullopt: the label is not set.
kube::Json QueuedWorkload(const Context& context, std::optional<int64_t> priority);
// The PodGroup of the role's pods, with the name of PodGroupName: kube-scheduler places at least `min_count` of the
// pods at the same time, or none. The group has the priority class of the pods, because kube-scheduler requires that
// the two are equal.
kube::Json PodGroup(const Context& context, api::Role role, int64_t min_count);

// Returns the pod template that the children of a role are made with.
kube::Json PodTemplate(const Context& context, api::Role role);
// Returns the number of pods that the role has while it runs. For trainers, the number follows from
// spec.trainers.replicas, even if Kueue has admitted fewer.
int64_t CountPods(const api::Spec& spec, api::Role role);
// Returns the largest number of program containers (api/program_container.h) that a pod of the job has.
uint32_t MostContainersPerPod(const api::Spec& spec);
// Returns the number of pods of `trainers` trainers.
int64_t CountTrainerPods(const api::Spec& spec, int64_t trainers);
// Returns the number of pods of spec.trainers.minReplicas trainers, or nullopt if the document does not set it: the job
// then needs all trainers.
std::optional<int64_t> MinTrainerPods(const api::Spec& spec);
// Returns the name of the PodGroup of the role's current pods.
std::string CurrentPodGroupName(const Context& context, api::Role role);

// Return the kInputsAnnotation that an object would have, without building it.
// InputsOfShared: of Service, ServiceAccount, ConfigMap, NetworkPolicy and DisruptionBudget.
std::string InputsOfShared(const Context& context);
std::string InputsOfServerSet(const Context& context, bool scaled_to_zero);  // of every replica
std::string InputsOfSamplerSet(const Context& context, bool scaled_to_zero);
std::string InputsOfPodGroup(const Context& context, int64_t min_count);
std::string InputsOfQueuedWorkload(const Context& context);  // of the counts and templates of its pod sets
struct TrainerPods {
  int64_t count = 1;
  std::optional<int64_t> least;  // as MinTrainerPods
};
// As the function above, but with `trainers` instead of the numbers of trainer pods in the document.
std::string InputsOfQueuedWorkload(const Context& context, const TrainerPods& trainers);

// Returns the folder of the run: "<output.uri>/<name>-<first 8 characters of uid>".
std::string RunPrefix(const api::DistTraining& training);
// Returns the folder of the partitions: "<graph.partitions.uri>" or "<output.uri>/partitions".
std::string PartitionsPrefix(const api::DistTraining& training);

}  // namespace espalier::ctl::resources
