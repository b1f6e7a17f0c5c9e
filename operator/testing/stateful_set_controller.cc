#include "operator/kube/testing/workload_controllers.h"
#include "operator/testing/controllers.h"
#include "services/base/check.h"

namespace espalier::ctl::cluster {

using kube::Json;

void StatefulSetController::Sync(const Json& object, const Pods& pods) {
  if (IsTerminating(object)) return;
  const Result<kube::StatefulSet> set = kube::ParseStatefulSet(object);
  ESPALIER_CHECK(set.ok()) << set.status().ToString();
  const ParsedPods parsed(pods, kOrdinalLabel, cluster_.counted_pods_);
  const kube::testing::StatefulSetDecision decision = kube::testing::DecideStatefulSet(*set, parsed.views());
  for (const kube::Pod* pod : decision.deletions) cluster_.DeletePod(pod->meta);
  Json status = object.value("status", Json::object());
  status["observedGeneration"] = decision.set.observed_generation;
  status["replicas"] = decision.set.current;
  status["readyReplicas"] = decision.set.ready;
  cluster_.SetStatus(kube::kStatefulSets, object, status);
  for (const int64_t ordinal : decision.missing) {
    if (!cluster_.pod_refusal_.empty()) return cluster_.ReportFailedCreate(object, kube::kStatefulSets);
    const std::string name = set->meta.key.name + "-" + std::to_string(ordinal);
    cluster_.MakePod(object, kube::kStatefulSets, name,
                     {{kOrdinalLabel, std::to_string(ordinal)}, {"statefulset.kubernetes.io/pod-name", name}}, name);
  }
}

}  // namespace espalier::ctl::cluster
