// Jobs for tests: a minimal one, one with many fields, and the latter with several servers per pod.
#pragma once

#include "operator/resources/builders.h"

namespace espalier::ctl::resources::testing {

// A job with partitions, in its first incarnation. It must outlive its contexts, which refer to it.
struct Job {
  api::DistTraining training;
  api::Status status;

  Context context() const { return {training, status}; }
};

Job SmallJob();
Job FullJob();
Job TwoContainersJob();               // FullJob with two program containers in the servers' pods
Job JobOf(const kube::Json& object);  // from a valid document; missing metadata is that of SmallJob
// Returns SmallJob with `spec` merged into its spec (RFC 7396).
Job JobWith(const kube::Json& spec);

}  // namespace espalier::ctl::resources::testing
