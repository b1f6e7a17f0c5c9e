// Where the job of a document runs. The fields, their types and their ranges are the same everywhere. The differences:
// fields and rules that only a cluster uses are ignored elsewhere, and the default of spec.tls.mode is Disabled on a
// laptop, Managed otherwise.
#pragma once

namespace espalier::job {

enum class RunsOn {
  kLaptop,   // `espalier run`, and the binaries of the roles, which read a document with defaults filled in
  kHosts,    // `espalier launch`
  kCluster,  // the operator
};

// Whether a document must have spec.training.
enum class SpecTraining {
  kRequired,       // for trainers and samplers
  kUnlessProgram,  // for whole jobs: optional with spec.trainers.program
  kOptional,       // for partitioners, which need only the graph, and for runs of a program from the command line
};

}  // namespace espalier::job
