#include "operator/kubectl/view/job_pod.h"

#include <algorithm>
#include <charconv>

#include "operator/resources/labels.h"

namespace espalier::ctl::view {
namespace {

constexpr char kSetIndexLabel[] = "apps.kubernetes.io/pod-index";  // since Kubernetes 1.28

std::optional<int64_t> NumberIn(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> NumberAt(const kube::ObjectMeta& meta, const char* label) {
  const auto found = meta.labels.find(label);
  return found == meta.labels.end() ? std::nullopt : NumberIn(found->second);
}

// The ordinal that ends the name of a StatefulSet's pod.
std::optional<int64_t> OrdinalOf(const std::string& pod) { return NumberIn(pod.substr(pod.rfind('-') + 1)); }

}  // namespace

std::optional<JobPod> JobPodOf(kube::Pod pod) {
  const auto component = pod.meta.labels.find(resources::kComponentLabel);
  if (component == pod.meta.labels.end()) return std::nullopt;
  const Result<api::Role> role = RoleNamed(component->second);
  if (!role.ok()) return std::nullopt;
  JobPod member{.role = *role};
  if (const auto index = NumberAt(pod.meta, resources::kCompletionIndexLabel)) {
    member.rank = *index;
  } else if (const auto set_index = NumberAt(pod.meta, kSetIndexLabel)) {
    member.rank = *set_index;
  } else if (member.role == api::Role::kServer || member.role == api::Role::kSampler) {
    member.rank = OrdinalOf(pod.meta.key.name).value_or(0);
  }
  member.attempt = NumberAt(pod.meta, resources::kIncarnationLabel)
                       .value_or(NumberAt(pod.meta, resources::kAttemptLabel).value_or(0));
  member.pod = std::move(pod);
  return member;
}

std::string LabelOf(const JobPod& member) {
  return std::string(api::NameOf(member.role)) + "-" + std::to_string(member.rank);
}

const kube::ContainerState* MainContainer(const JobPod& member) {
  const auto found =
      std::find_if(member.pod.containers.begin(), member.pod.containers.end(),
                   [&](const kube::ContainerState& container) { return container.name == api::NameOf(member.role); });
  return found == member.pod.containers.end() ? nullptr : &*found;
}

Result<api::Role> RoleNamed(const std::string& name) {
  std::string names;
  for (const api::Role role : api::kRoles) {
    if (name == api::NameOf(role)) return role;
    names += (names.empty() ? "" : ", ") + std::string(api::NameOf(role));
  }
  return InvalidArgument("'" + name + "' is no role: expected one of " + names);
}

}  // namespace espalier::ctl::view
