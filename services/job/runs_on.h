// Where a document is meant to run. One schema, one validator, one set of defaults; what differs is who looks at the
// fields that only a cluster uses, and how connections are protected where nothing is said.
#pragma once

namespace espalier::job {

enum class RunsOn {
  kLaptop,   // `espalier run`, and the role binaries, whose document is already filled in
  kHosts,    // `espalier launch`
  kCluster,  // the operator
};

// Whether a document must have spec.training.
enum class SpecTraining {
  kRequired,       // for trainers and samplers, which do what it says
  kUnlessProgram,  // for whole jobs: one with spec.trainers.program goes without it
  kOptional,       // for those who need the graph alone: partitioners, and runs of a program that the command names
};

}  // namespace espalier::job
