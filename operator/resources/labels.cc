#include "operator/resources/labels.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "services/base/parse_number.h"

namespace espalier::ctl::resources {
namespace {

// Domains whose labels are not inherited, including subdomains. x-k8s.io belongs to Kueue and other Kubernetes
// projects.
constexpr std::string_view kDomainsOfTools[] = {".kubernetes.io", ".k8s.io",      ".x-k8s.io", ".espalier.io",
                                                ".helm.sh",       ".argoproj.io", ".fluxcd.io"};
// Labels that the Job controller sets: the API server rejects a Job whose pod template has other values.
constexpr std::string_view kLabelsOfJobs[] = {"job-name", "controller-uid"};

}  // namespace

std::string FindLabel(const api::DistTraining& training, const char* label) {
  const auto found = training.meta.labels.find(label);
  return found == training.meta.labels.end() ? std::string() : found->second;
}

std::optional<int64_t> MaxExecutionSeconds(const api::DistTraining& training) {
  const std::optional<int32_t> seconds = ParseNumber<int32_t>(FindLabel(training, kQueueMaxTimeLabel));
  return seconds && *seconds > 0 ? std::optional<int64_t>(*seconds) : std::nullopt;
}

Labels MakeSelector(const api::DistTraining& training) {
  return {{kManagedByLabel, "espalier-operator"}, {kNameLabel, "espalier"}, {kJobLabel, training.meta.key.name}};
}

Labels MakeSelector(const api::DistTraining& training, api::Role role) {
  return MakeLabels(training, api::ToString(role));
}

Labels InheritedLabels(const api::DistTraining& training) {
  Labels labels;
  for (const auto& [label, value] : training.meta.labels) {
    const size_t slash = label.find('/');
    const std::string domain = slash == std::string::npos ? std::string() : "." + label.substr(0, slash);
    const bool is_of_a_tool =
        std::any_of(std::begin(kDomainsOfTools), std::end(kDomainsOfTools),
                    [&domain](std::string_view of_a_tool) { return domain.ends_with(of_a_tool); });
    const bool is_of_jobs =
        std::find(std::begin(kLabelsOfJobs), std::end(kLabelsOfJobs), label) != std::end(kLabelsOfJobs);
    if (!is_of_a_tool && !is_of_jobs) labels.emplace(label, value);
  }
  return labels;
}

Labels MakeLabels(const api::DistTraining& training, const std::string& component) {
  Labels labels = MakeSelector(training);
  labels[kComponentLabel] = component;
  return labels;
}

}  // namespace espalier::ctl::resources
