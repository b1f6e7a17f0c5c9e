#include "services/base/exit_code.h"

namespace espalier {

const char* MeaningOfExitCode(int code) {
  switch (ExitCode{code}) {
    case ExitCode::kDone: return "done";
    case ExitCode::kBadDocument: return "bad usage, flags or job document";
    case ExitCode::kBadInput: return "bad input";
    case ExitCode::kBug: return "internal error";
    case ExitCode::kUnavailable: return "a store, a peer, a disk or memory is not available";
    case ExitCode::kAskedToStop: return "asked to stop";
    case ExitCode::kBadCredentials: return "not permitted";
  }
  return nullptr;
}

ExitCode ToExitCode(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return ExitCode::kDone;
    case StatusCode::kCancelled: return ExitCode::kAskedToStop;
    // The document requests a feature that the store, server or model does not support.
    case StatusCode::kUnimplemented: return ExitCode::kBadDocument;
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kAlreadyExists:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kOutOfRange:
    case StatusCode::kDataLoss: return ExitCode::kBadInput;
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kResourceExhausted:
    case StatusCode::kAborted:
    case StatusCode::kUnavailable: return ExitCode::kUnavailable;
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated: return ExitCode::kBadCredentials;
    case StatusCode::kUnknown:
    case StatusCode::kInternal: return ExitCode::kBug;
  }
  return ExitCode::kBug;
}

ExitCode ToExitCodeOfPlace(StatusCode code) {
  const ExitCode exit_code = ToExitCode(code);
  return exit_code == ExitCode::kBadInput ? ExitCode::kBadDocument : exit_code;
}

}  // namespace espalier
