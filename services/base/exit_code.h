// Exit codes of Espalier's processes. The operator and users' scripts act on them (docs/exit-codes.md).
#pragma once

#include "services/base/status.h"

namespace espalier {

enum class ExitCode : int {
  kDone = 0,
  kBadDocument = 64,     // bad usage, flags or job document: never retried
  kBadInput = 65,        // bad graphs, partitions or models: never retried
  kBug = 70,             // in Espalier
  kUnavailable = 74,     // a store, a peer, a disk or memory is not available
  kAskedToStop = 75,     // SIGTERM or Ctrl-C; trainers have usually written a checkpoint
  kBadCredentials = 77,  // not permitted
};

// Returns the meaning of a code, such as "bad input"; null for a code that no Espalier process exits with.
const char* MeaningOfExitCode(int code);

// Returns the exit code for an error of processing data. For errors of flags and documents the caller uses kBadDocument
// instead.
ExitCode ToExitCode(StatusCode code);

// Returns the exit code for an error of a location that a flag or a document names, such as a bucket that does not
// exist. The flag or document is wrong then, not the data.
ExitCode ToExitCodeOfPlace(StatusCode code);

}  // namespace espalier
