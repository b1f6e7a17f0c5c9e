#include <set>

#include "operator/testing/controllers.h"

namespace espalier::ctl::cluster {

using kube::Json;

void StatefulSetController::Sync(const Json& set, const Pods& pods) {
  if (IsTerminating(set)) return;
  const std::string name = kube::StringAt(set, {"metadata", "name"});
  const int64_t replicas = kube::IntegerAt(set, {"spec", "replicas"}).value_or(1);
  std::set<std::string> wanted;
  for (int64_t i = 0; i < replicas; ++i) wanted.insert(name + "-" + std::to_string(i));

  int64_t ready = 0;
  std::set<std::string> there;  // includes pods that are being deleted, whose names are still taken
  for (const Json& pod : pods) {
    const std::string pod_name = kube::StringAt(pod, {"metadata", "name"});
    there.insert(pod_name);
    if (IsTerminating(pod)) continue;
    const bool has_failed = kube::StringAt(pod, {"status", "phase"}) == "Failed";
    if (wanted.count(pod_name) == 0 || has_failed) {
      cluster_.Delete(kube::kPods, pod);
      continue;
    }
    for (const Json& condition : kube::ListAt(pod, {"status", "conditions"})) {
      const bool is_ready = kube::StringAt(condition, {"type"}) == "Ready";
      if (is_ready && kube::StringAt(condition, {"status"}) == "True") ++ready;
    }
  }
  Json status = set.value("status", Json::object());
  status["observedGeneration"] = kube::IntegerAt(set, {"metadata", "generation"}).value_or(0);
  status["replicas"] = pods.size();
  status["readyReplicas"] = ready;
  cluster_.SetStatus(kube::kStatefulSets, set, status);
  for (int64_t i = 0; i < replicas; ++i) {
    const std::string pod_name = name + "-" + std::to_string(i);
    if (there.count(pod_name) > 0) continue;
    if (!cluster_.pod_refusal_.empty()) return cluster_.ReportFailedCreate(set, kube::kStatefulSets);
    cluster_.MakePod(
        set, kube::kStatefulSets, pod_name,
        {{"apps.kubernetes.io/pod-index", std::to_string(i)}, {"statefulset.kubernetes.io/pod-name", pod_name}},
        pod_name);
  }
}

}  // namespace espalier::ctl::cluster
