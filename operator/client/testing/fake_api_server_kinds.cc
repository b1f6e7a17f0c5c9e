#include "operator/client/testing/fake_api_server_kinds.h"

namespace espalier::ctl::client::fake {
namespace {

using kube::Propagation;

std::vector<KindTraits> MakeKinds() {
  return {
      {.resource = &kube::kPods,
       .fields = {"spec", "status"},
       .has_status = true,
       .first_phase = "Pending",
       .selectable = {"spec.nodeName", "status.phase"},
       .has_generation = true,
       .ends_gracefully = true},
      {.resource = &kube::kServices, .fields = {"spec", "status"}, .has_status = true},
      {.resource = &kube::kConfigMaps, .fields = {"data", "binaryData", "immutable"}},
      {.resource = &kube::kSecrets, .fields = {"data", "stringData", "type", "immutable"}},
      {.resource = &kube::kServiceAccounts, .fields = {"secrets", "imagePullSecrets", "automountServiceAccountToken"}},
      {.resource = &kube::kNodes, .fields = {"spec", "status"}, .has_status = true, .keeps_status_on_create = true},
      {.resource = &kube::kNamespaces, .fields = {"spec", "status"}, .has_status = true, .first_phase = "Active"},
      {.resource = &kube::kCoreEvents,
       .fields = {"involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type",
                  "eventTime", "series", "action", "related", "reportingComponent", "reportingInstance"},
       .selectable = {"involvedObject.uid", "involvedObject.name", "involvedObject.kind", "reason", "type"},
       .creates_by_replace = true},
      {.resource = &kube::kEvents,
       .fields = {"eventTime", "series", "reportingController", "reportingInstance", "action", "reason", "regarding",
                  "related", "note", "type", "deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp",
                  "deprecatedCount"},
       .selectable = {"regarding.uid", "regarding.name", "regarding.kind", "reason", "type"},
       .creates_by_replace = true},
      {.resource = &kube::kJobs,
       .fields = {"spec", "status"},
       .has_status = true,
       .has_generation = true,
       .default_propagation = Propagation::kOrphan},  // as in the real server, for compatibility
      {.resource = &kube::kStatefulSets, .fields = {"spec", "status"}, .has_status = true, .has_generation = true},
      {.resource = &kube::kPodDisruptionBudgets,
       .fields = {"spec", "status"},
       .has_status = true,
       .has_generation = true},
      {.resource = &kube::kNetworkPolicies, .fields = {"spec"}, .has_generation = true},
      {.resource = &kube::kLeases, .fields = {"spec"}, .must_name_version = true, .creates_by_replace = true},
      {.resource = &kube::kDistTrainings,
       .fields = {"spec", "status"},
       .has_status = true,
       .has_generation = true,
       .is_custom = true,
       .must_name_version = true},
      {.resource = &kube::kCustomResourceDefinitions,
       .fields = {"spec", "status"},
       .has_status = true,
       .has_generation = true,
       .must_name_version = true},
      {.resource = &kube::kWorkloads,
       .fields = {"spec", "status"},
       .has_status = true,
       .has_generation = true,
       .is_custom = true,
       .must_name_version = true},
      {.resource = &kube::kResourceFlavors,
       .fields = {"spec"},
       .has_generation = true,
       .is_custom = true,
       .must_name_version = true},
      {.resource = &kube::kWorkloadPriorityClasses,
       .fields = {"value", "description"},
       .has_generation = true,
       .is_custom = true,
       .must_name_version = true},
      {.resource = &kube::kPodGroups, .fields = {"spec", "status"}, .has_status = true, .has_generation = true},
  };
}

}  // namespace

std::span<const KindTraits> AllKinds() {
  static const std::vector<KindTraits> kinds = MakeKinds();
  return kinds;
}

const KindTraits* FindKind(std::string_view group, std::string_view version, std::string_view plural) {
  for (const KindTraits& kind : AllKinds()) {
    const kube::Resource& resource = *kind.resource;
    if (resource.plural == plural && resource.group == group && resource.version == version) return &kind;
  }
  return nullptr;
}

const KindTraits* FindKind(const kube::Resource& resource) {
  return FindKind(resource.group, resource.version, resource.plural);
}

}  // namespace espalier::ctl::client::fake
