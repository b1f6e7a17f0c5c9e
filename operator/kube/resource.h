// The kinds of objects that the operator reads and writes.
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier::ctl::kube {

struct Resource {
  std::string_view group;  // "" is the core group
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = true;

  std::string api_version() const;  // "v1", "batch/v1"
  friend bool operator==(const Resource&, const Resource&) = default;
};

inline constexpr Resource kPods{"", "v1", "pods", "Pod"};
inline constexpr Resource kServices{"", "v1", "services", "Service"};
inline constexpr Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
inline constexpr Resource kSecrets{"", "v1", "secrets", "Secret"};
inline constexpr Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};
inline constexpr Resource kNodes{"", "v1", "nodes", "Node", false};
inline constexpr Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr Resource kCoreEvents{"", "v1", "events", "Event"};
inline constexpr Resource kEvents{"events.k8s.io", "v1", "events", "Event"};
inline constexpr Resource kJobs{"batch", "v1", "jobs", "Job"};
inline constexpr Resource kStatefulSets{"apps", "v1", "statefulsets", "StatefulSet"};
inline constexpr Resource kPodDisruptionBudgets{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"};
inline constexpr Resource kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"};
inline constexpr Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};
inline constexpr Resource kDistTrainings{"espalier.io", "v1alpha1", "disttrainings", "DistTraining"};
inline constexpr Resource kCustomResourceDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                                     "CustomResourceDefinition", false};

// Kueue's kinds. They exist only in clusters that have Kueue.
inline constexpr Resource kWorkloads{"kueue.x-k8s.io", "v1beta2", "workloads", "Workload"};
inline constexpr Resource kResourceFlavors{"kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", false};
inline constexpr Resource kWorkloadPriorityClasses{"kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses",
                                                   "WorkloadPriorityClass", false};

// Groups of pods that kube-scheduler starts all-or-nothing. Served since Kubernetes 1.37, with feature gate
// GenericWorkload.
inline constexpr Resource kPodGroups{"scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup"};
// Kinds that the API server answers but does not store.
inline constexpr Resource kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false};
inline constexpr Resource kSubjectAccessReviews{"authorization.k8s.io", "v1", "subjectaccessreviews",
                                                "SubjectAccessReview", false};

// Returns the resource above that has this apiVersion and kind, or null.
const Resource* FindResource(std::string_view api_version, std::string_view kind);

// An object's name in the cluster.
struct ObjectKey {
  std::string name_space;  // "" for cluster-scoped objects
  std::string name;
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};
std::string ToString(const ObjectKey& key);  // "namespace/name", or "name"

// Returns InvalidArgument for a key that no object of this kind can have. In the path of a request, such a key would
// address another resource: an empty name addresses the whole collection, and the name ".." its parent.
Status CheckKey(const Resource& resource, const ObjectKey& key);

}  // namespace espalier::ctl::kube
