// PodGroups as the API server stores them, with the condition that kube-scheduler writes. The simulation places pods as
// if they had no group. A test that needs a gang without nodes makes the gang's pods unschedulable.
#include "operator/plan/testing/simulated_cluster.h"
#include "services/base/check.h"

namespace espalier::ctl::plan::testing {

void SimulatedCluster::KeepPodGroup(const kube::Json& object, const kube::ObjectMeta& meta) {
  const Result<kube::PodGroup> applied = kube::ParsePodGroup(object);
  ESPALIER_CHECK(applied.ok()) << applied.status().ToString();
  kube::PodGroup& group = pod_groups_[meta.key.name];
  group.meta = meta;
  group.min_count = applied->min_count;
}

void SimulatedCluster::ShowPodGroups(Observed* seen) const {
  seen->gangs.is_enabled = gangs_are_enabled_;
  seen->gangs.is_missing = gangs_are_missing_;
  seen->gangs.list_error = gangs_unknown_;
  if (!gangs_are_enabled_ || gangs_are_missing_ || !gangs_unknown_.empty()) return;
  for (const auto& [name, group] : pod_groups_) seen->gangs.groups.push_back(std::make_shared<kube::PodGroup>(group));
}

const kube::PodGroup* SimulatedCluster::FindPodGroup(const std::string& name) const {
  const auto found = pod_groups_.find(name);
  return found == pod_groups_.end() ? nullptr : &found->second;
}

void SimulatedCluster::SetScheduled(const std::string& pod_group, bool is_scheduled, const std::string& message) {
  const auto found = pod_groups_.find(pod_group);
  ESPALIER_CHECK(found != pod_groups_.end()) << "there is no PodGroup " << pod_group;
  Changed();
  found->second.scheduled = kube::Condition{.type = "PodGroupInitiallyScheduled",
                                            .status = is_scheduled ? "True" : "False",
                                            .reason = is_scheduled ? "Scheduled" : "Unschedulable",
                                            .message = message};
}

}  // namespace espalier::ctl::plan::testing
