// Which program reads a document. The fields, their types and their ranges are the same for all. The differences: only
// the operator uses cluster-only fields and rules, the others ignore them; and the default of spec.tls.mode is Disabled
// for kRunOrRole, Managed otherwise.
#pragma once

namespace espalier::job {

enum class ReadBy {
  kRunOrRole,  // `espalier run`; and the binaries of the roles, also in pods, whose documents have all defaults
  kLaunch,     // `espalier launch`
  kOperator,   // the operator and kubectl-espalier
};

// Whether a document must have spec.training.
enum class SpecTraining {
  kRequired,       // for trainers and samplers
  kUnlessProgram,  // for whole jobs: optional with spec.trainers.program
  kOptional,       // for partitioners, which need only the graph, and for runs of a program from the command line
};

}  // namespace espalier::job
