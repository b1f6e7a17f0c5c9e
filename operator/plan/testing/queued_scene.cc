#include "operator/plan/testing/queued_scene.h"

#include <gtest/gtest.h>

#include "operator/resources/labels.h"

namespace espalier::ctl::plan::testing {

using kube::Json;

Observed::Queue::Flavor SpotFlavor() {
  return {.node_labels = {{"pool", "spot"}},
          .tolerations = Json::array({{{"key", "spot"}, {"operator", "Exists"}}}),
          .error = {}};
}

Scene QueuedScene(const Json& spec) {
  Scene scene = Scene::With(spec);
  scene.cluster().set_uses_kueue(true);
  scene.cluster().SetLabel(resources::kQueueLabel, "research");
  scene.cluster().PutFlavor("spot", SpotFlavor());
  return scene;
}

void TrainInQueue(Scene& scene) {
  scene.Settle();
  scene.cluster().AdmitWorkload("spot");
  scene.Settle();
  scene.PartitionPodEnded(PartitionEnding("0123abcd"));
  scene.Settle();
  ASSERT_EQ(scene.status().phase, api::Phase::kTraining);
}

kube::QueuedWorkload WorkloadIn(Scene& scene) { return *kube::ParseQueuedWorkload(*scene.cluster().FindWorkload()); }

}  // namespace espalier::ctl::plan::testing
