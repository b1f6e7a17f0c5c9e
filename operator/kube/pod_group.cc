#include "operator/kube/pod_group.h"

namespace espalier::ctl::kube {

Result<PodGroup> ParsePodGroup(const Json& object) {
  PodGroup group;
  ASSIGN_OR_RETURN(group.meta, ParseObjectMeta(object));
  group.min_count = IntegerAt(object, {"spec", "schedulingPolicy", "gang", "minCount"}).value_or(0);
  group.scheduled = FindCondition(object, "PodGroupInitiallyScheduled");
  return group;
}

}  // namespace espalier::ctl::kube
