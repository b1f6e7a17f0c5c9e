// The fields of PodGroups (scheduling.k8s.io/v1beta1) that the operator reads.
#pragma once

#include <optional>

#include "operator/kube/condition.h"
#include "operator/kube/object_meta.h"

namespace espalier::ctl::kube {

struct PodGroup {
  ObjectMeta meta;
  int64_t min_count = 0;  // spec.schedulingPolicy.gang.minCount; 0: the group is not a gang
  // Condition PodGroupInitiallyScheduled, which kube-scheduler writes. Once True, it stays True even if pods are lost.
  std::optional<Condition> scheduled;

  // Returns whether the group has ever been scheduled: min_count pods had nodes at the same time.
  bool was_scheduled() const { return scheduled && scheduled->is_true(); }
  friend bool operator==(const PodGroup&, const PodGroup&) = default;
};

// Returns InvalidArgument if the metadata is invalid. Other fields of a wrong type count as unset.
Result<PodGroup> ParsePodGroup(const Json& object);

}  // namespace espalier::ctl::kube
