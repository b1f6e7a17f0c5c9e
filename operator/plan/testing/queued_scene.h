// Helpers for tests of a job in a queue of Kueue.
#pragma once

#include "operator/plan/testing/scene.h"

namespace espalier::ctl::plan::testing {

// A ResourceFlavor with the node label pool=spot and a toleration.
Observed::Queue::Flavor SpotFlavor();
// Returns a scene with a job in the queue "research", which Kueue has not admitted, and the flavor "spot". `spec` is
// merged into the document.
Scene QueuedScene(const kube::Json& spec = kube::Json::object());
// Admits the job of a QueuedScene with all of its trainers and brings it to the phase Training.
void TrainInQueue(Scene& scene);

// Returns the job's Workload, which must exist.
kube::QueuedWorkload WorkloadIn(Scene& scene);

}  // namespace espalier::ctl::plan::testing
