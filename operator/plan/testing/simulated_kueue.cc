// Kueue, as far as the controller of a job sees it: the rules of the API server and of Kueue's webhook for Workloads,
// and what Kueue writes into their status (kueue 0.19, pkg/workload).
#include <algorithm>

#include "operator/plan/quota.h"
#include "operator/plan/testing/simulated_cluster.h"
#include "operator/resources/names.h"
#include "services/base/check.h"

namespace espalier::ctl::plan::testing {

using kube::Json;

namespace {

// The rules of Kueue's webhook for status.reclaimablePods: at most all pods of a set, and never fewer than before while
// quota is reserved.
Status CheckReclaimablePods(const kube::QueuedWorkload& before, const kube::QueuedWorkload& after) {
  const bool keeps_quota = before.IsTrue(kWorkloadQuotaReserved) && after.IsTrue(kWorkloadQuotaReserved);
  for (const kube::QueuedWorkload::PodSet& set : after.pod_sets) {
    const int64_t count = after.CountReclaimable(set.name);
    if (count > set.count) {
      return InvalidArgument("status.reclaimablePods[" + set.name + "].count: should be less or equal to " +
                             std::to_string(set.count));
    }
    if (keeps_quota && count < before.CountReclaimable(set.name)) {
      return InvalidArgument("status.reclaimablePods[" + set.name + "].count: cannot be less then " +
                             std::to_string(before.CountReclaimable(set.name)));
    }
  }
  return {};
}

}  // namespace

void SimulatedCluster::SetLabel(const std::string& label, const std::string& value) {
  Changed();
  if (value.empty()) {
    training_.meta.labels.erase(label);
  } else {
    training_.meta.labels[label] = value;
  }
  training_.meta.resource_version = std::to_string(++resource_version_);
}

Status SimulatedCluster::ApplyWorkload(const Json& object, const kube::ObjectMeta& meta) {
  const auto there = workloads_.find(meta.key.name);
  const bool exists = there != workloads_.end();
  const std::string uid = exists ? kube::StringAt(there->second, {"metadata", "uid"}) : NewUid();
  Json stored = object;
  if (exists) {
    const Json& before = there->second;
    const kube::QueuedWorkload now = *kube::ParseQueuedWorkload(before);
    if (now.IsTrue(kWorkloadQuotaReserved) && before["spec"]["podSets"] != object["spec"]["podSets"]) {
      return InvalidArgument("spec.podSets: field is immutable");
    }
    if (before.contains("status")) stored["status"] = before["status"];
    RETURN_IF_ERROR(CheckReclaimablePods(now, *kube::ParseQueuedWorkload(stored)));
    // spec.active belongs to another field manager, so the apply does not remove it.
    if (before["spec"].contains("active")) stored["spec"]["active"] = before["spec"]["active"];
  }
  stored["metadata"]["uid"] = uid;
  stored["metadata"]["generation"] = exists ? there->second["metadata"]["generation"].get<int64_t>() + 1 : 1;
  stored["metadata"]["resourceVersion"] = std::to_string(++resource_version_);
  stored["metadata"]["creationTimestamp"] = kube::FormatTime(now_);
  workloads_[meta.key.name] = std::move(stored);
  return {};
}

Status SimulatedCluster::PatchWorkload(const PatchWorkloadStatus& action) {
  const auto there = workloads_.find(action.key.name);
  if (there == workloads_.end()) return {};
  const std::string based_on = kube::StringAt(action.patch, {"metadata", "resourceVersion"});
  if (based_on != kube::StringAt(there->second, {"metadata", "resourceVersion"})) {
    return Aborted(action.key.name + " has changed");
  }
  Json patched = there->second;
  Json& status = patched["status"];
  if (status.is_null()) status = Json::object();
  status.merge_patch(action.patch["status"]);
  RETURN_IF_ERROR(CheckReclaimablePods(*kube::ParseQueuedWorkload(there->second), *kube::ParseQueuedWorkload(patched)));
  there->second = std::move(patched);
  there->second["metadata"]["resourceVersion"] = std::to_string(++resource_version_);
  return {};
}

const Json* SimulatedCluster::FindWorkload() const {
  const auto found = workloads_.find(resources::QueuedWorkloadName(training_.meta.key.name));
  return found == workloads_.end() ? nullptr : &found->second;
}

void SimulatedCluster::EditWorkload(const std::function<void(Json*)>& edit) {
  const auto found = workloads_.find(resources::QueuedWorkloadName(training_.meta.key.name));
  ESPALIER_CHECK(found != workloads_.end()) << "there is no Workload";
  Changed();
  edit(&found->second);
  found->second["metadata"]["resourceVersion"] = std::to_string(++resource_version_);
}

void SimulatedCluster::SetWorkloadCondition(const std::string& type, bool is_true, const std::string& reason,
                                            const std::string& message) {
  EditWorkload([&](Json* workload) {
    Json& conditions = (*workload)["status"]["conditions"];
    if (!conditions.is_array()) conditions = Json::array();
    const Json condition = {{"type", type},
                            {"status", is_true ? "True" : "False"},
                            {"reason", reason},
                            {"message", message},
                            {"observedGeneration", (*workload)["metadata"]["generation"]},
                            {"lastTransitionTime", kube::FormatTime(now_)}};
    const auto there = std::find_if(conditions.begin(), conditions.end(),
                                    [&type](const Json& one) { return kube::StringAt(one, {"type"}) == type; });
    if (there == conditions.end()) {
      conditions.push_back(condition);
    } else {
      *there = condition;
    }
  });
}

void SimulatedCluster::AdmitWorkload(const std::string& flavor, int64_t trainers) {
  EditWorkload([&](Json* workload) {
    Json assignments = Json::array();
    for (const Json& set : (*workload)["spec"]["podSets"]) {
      const bool is_partial = trainers > 0 && set["name"] == "trainers";
      assignments.push_back({{"name", set["name"]},
                             {"count", is_partial ? Json(trainers) : set["count"]},
                             {"flavors", {{"cpu", flavor}, {"memory", flavor}}}});
    }
    (*workload)["status"]["admission"] = {{"clusterQueue", "gpus"}, {"podSetAssignments", std::move(assignments)}};
  });
  SetWorkloadCondition(kWorkloadQuotaReserved, true, "QuotaReserved", "Quota reserved in ClusterQueue gpus");
  SetWorkloadCondition(kWorkloadAdmitted, true, "Admitted", "The workload is admitted");
  if (kube::ParseQueuedWorkload(*FindWorkload())->IsTrue(kWorkloadEvicted)) {
    SetWorkloadCondition(kWorkloadEvicted, false, "QuotaReserved", "Previously: evicted");
  }
}

void SimulatedCluster::EvictWorkload(const std::string& reason, const std::string& message) {
  SetWorkloadCondition(kWorkloadEvicted, true, reason, message);
}

}  // namespace espalier::ctl::plan::testing
