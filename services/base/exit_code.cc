#include "services/base/exit_code.h"

namespace espalier {

ExitCode ExitCodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return ExitCode::kDone;
    case StatusCode::kCancelled: return ExitCode::kAskedToStop;
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kAlreadyExists:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kOutOfRange:
    case StatusCode::kUnimplemented:
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

}  // namespace espalier
