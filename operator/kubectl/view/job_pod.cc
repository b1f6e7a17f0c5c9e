#include "operator/kubectl/view/job_pod.h"

#include <map>

#include "operator/api/program_container.h"
#include "operator/resources/labels.h"
#include "services/base/parse_number.h"

namespace espalier::ctl::view {
namespace {

constexpr char kSetIndexLabel[] = "apps.kubernetes.io/pod-index";  // since Kubernetes 1.28

std::optional<int64_t> ParseIndex(std::string_view text) {
  const std::optional<int64_t> number = ParseNumber<int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

std::optional<int64_t> FindIndex(const kube::ObjectMeta& meta, const char* label) {
  const auto found = meta.labels.find(label);
  return found == meta.labels.end() ? std::nullopt : ParseIndex(found->second);
}

// Returns the ordinal at the end of the name of a StatefulSet's pod.
std::optional<int64_t> ParseOrdinal(const std::string& pod) { return ParseIndex(pod.substr(pod.rfind('-') + 1)); }

}  // namespace

std::optional<JobPod> ToJobPod(kube::Pod pod) {
  const auto component = pod.meta.labels.find(resources::kComponentLabel);
  if (component == pod.meta.labels.end()) return std::nullopt;
  const Result<api::Role> role = ParseRole(component->second);
  if (!role.ok()) return std::nullopt;
  JobPod member{.role = *role};
  if (const auto index = FindIndex(pod.meta, resources::kCompletionIndexLabel)) {
    member.rank = *index;
  } else if (const auto set_index = FindIndex(pod.meta, kSetIndexLabel)) {
    member.rank = *set_index;
  } else if (member.role == api::Role::kServer || member.role == api::Role::kSampler) {
    member.rank = ParseOrdinal(pod.meta.key.name).value_or(0);
  }
  member.attempt = FindIndex(pod.meta, resources::kIncarnationLabel)
                       .value_or(FindIndex(pod.meta, resources::kAttemptLabel).value_or(0));
  member.pod = std::move(pod);
  return member;
}

std::string MakeDisplayName(const JobPod& member) {
  return std::string(api::ToString(member.role)) + "-" + std::to_string(member.rank);
}

std::vector<const kube::ContainerState*> ProgramContainers(const JobPod& member) {
  std::map<uint32_t, const kube::ContainerState*> by_number;
  for (const kube::ContainerState& container : member.pod.containers) {
    if (const auto number = api::FindContainerNumber(member.role, container.name)) by_number[*number] = &container;
  }
  std::vector<const kube::ContainerState*> containers;
  for (const auto& [number, container] : by_number) containers.push_back(container);
  return containers;
}

Result<api::Role> ParseRole(const std::string& name) {
  std::string names;
  for (const api::Role role : api::kRoles) {
    if (name == api::ToString(role)) return role;
    names += (names.empty() ? "" : ", ") + std::string(api::ToString(role));
  }
  return InvalidArgument("'" + name + "' is not a role: expected one of " + names);
}

}  // namespace espalier::ctl::view
