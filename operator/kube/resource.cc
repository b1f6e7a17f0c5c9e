#include "operator/kube/resource.h"

namespace espalier::ctl::kube {
namespace {

constexpr const Resource* kAll[] = {&kPods,
                                    &kServices,
                                    &kConfigMaps,
                                    &kSecrets,
                                    &kServiceAccounts,
                                    &kNodes,
                                    &kNamespaces,
                                    &kCoreEvents,
                                    &kEvents,
                                    &kJobs,
                                    &kStatefulSets,
                                    &kPodDisruptionBudgets,
                                    &kNetworkPolicies,
                                    &kLeases,
                                    &kDistTrainings,
                                    &kCustomResourceDefinitions,
                                    &kWorkloads,
                                    &kResourceFlavors,
                                    &kWorkloadPriorityClasses,
                                    &kPodGroups,
                                    &kTokenReviews,
                                    &kSubjectAccessReviews};

// Returns whether the name can be a segment of a path, by the rule of Kubernetes (apimachinery, validation/path).
bool IsPathSegment(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/%") == std::string_view::npos;
}

}  // namespace

std::string Resource::api_version() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

const Resource* FindResource(std::string_view api_version, std::string_view kind) {
  for (const Resource* const resource : kAll) {
    if (resource->kind == kind && resource->api_version() == api_version) return resource;
  }
  return nullptr;
}

std::string ToString(const ObjectKey& key) {
  return key.name_space.empty() ? key.name : key.name_space + "/" + key.name;
}

Status CheckKey(const Resource& resource, const ObjectKey& key) {
  const std::string kind(resource.kind);
  if (!IsPathSegment(key.name)) return InvalidArgument("'" + key.name + "' is not a valid name of a " + kind);
  if (resource.namespaced && !IsPathSegment(key.name_space)) {
    return InvalidArgument("'" + key.name_space + "' is not a valid namespace of a " + kind);
  }
  if (!resource.namespaced && !key.name_space.empty()) return InvalidArgument("a " + kind + " has no namespace");
  return {};
}

}  // namespace espalier::ctl::kube
