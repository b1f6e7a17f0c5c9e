// What a process's exit status says; the operator and scripts act on it (docs/exit-codes.md).
#pragma once

#include "services/base/status.h"

namespace espalier {

enum class ExitCode : int {
  kDone = 0,
  kBadDocument = 64,  // usage, flags, job document: never retried
  kBadInput = 65,     // graphs, partitions, models: never retried
  kBug = 70,          // ours
  kUnavailable = 74,  // a store, a peer, a disk
  kAskedToStop = 75,  // SIGTERM, work saved
  kBadCredentials = 77,
};

// "bad input"; null for a code that none of our processes ends with.
const char* MeaningOfExitCode(int code);

// Returns the code for an error of work on data. Errors of flags and documents are kBadDocument: the caller knows.
ExitCode ToExitCode(StatusCode code);

// Returns the code for an error of a place that a flag or a document names, as a bucket that does not exist: that
// choice is at fault, not the data.
ExitCode ToExitCodeOfPlace(StatusCode code);

}  // namespace espalier
