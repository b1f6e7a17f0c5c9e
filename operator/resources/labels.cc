#include "operator/resources/labels.h"

namespace espalier::ctl::resources {

Labels SelectorOf(const api::DistTraining& training) {
  return {{kManagedByLabel, "espalier-operator"}, {kNameLabel, "espalier"}, {kJobLabel, training.meta.key.name}};
}

Labels SelectorOf(const api::DistTraining& training, api::Role role) { return LabelsOf(training, api::NameOf(role)); }

Labels LabelsOf(const api::DistTraining& training, const std::string& component) {
  Labels labels = SelectorOf(training);
  labels[kComponentLabel] = component;
  return labels;
}

}  // namespace espalier::ctl::resources
