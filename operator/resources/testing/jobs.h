// Jobs for tests: one that says as little as it may, one that says much, and that one with more servers in a pod.
#pragma once

#include "operator/resources/builders.h"

namespace espalier::ctl::resources::testing {

// A job whose partitions are made, in its first incarnation. Moved, not copied, where it is: contexts refer to it.
struct Job {
  api::DistTraining training;
  api::Status status;

  Context context() const { return {training, status}; }
};

Job SmallJob();
Job FullJob();
Job TwoContainersJob();               // FullJob, whose servers' pods have two containers of the program
Job JobOf(const kube::Json& object);  // a valid document; metadata that it lacks is SmallJob's
// `spec` is merged (RFC 7396) into that of SmallJob.
Job JobWith(const kube::Json& spec);

}  // namespace espalier::ctl::resources::testing
