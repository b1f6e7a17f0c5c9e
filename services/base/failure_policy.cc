#include "services/base/failure_policy.h"

#include <algorithm>

#include "services/base/exit_code.h"

namespace espalier {

namespace {

constexpr int kSignalBase = 128;

}  // namespace

FailureRule RuleForEnd(int code, int signal) {
  if (signal != 0 || code > kSignalBase) return {CauseRank::kSignal, Retry::kCounted};
  switch (ExitCode{code}) {
    case ExitCode::kDone: return {CauseRank::kUnexpectedExit, Retry::kCounted};
    case ExitCode::kBadDocument:
    case ExitCode::kBadInput: return {CauseRank::kBadInput, Retry::kNever};
    case ExitCode::kBug: return {CauseRank::kError, Retry::kCounted};
    case ExitCode::kUnavailable: return {CauseRank::kPeer, Retry::kCounted};
    case ExitCode::kAskedToStop: return {CauseRank::kAskedToStop, Retry::kNotCounted};
    case ExitCode::kBadCredentials: return {CauseRank::kCredentials, Retry::kCounted};
  }
  return {CauseRank::kError, Retry::kCounted};
}

std::chrono::milliseconds DelayAfterFailures(int64_t failures, std::chrono::milliseconds first,
                                             std::chrono::milliseconds longest) {
  std::chrono::milliseconds delay = first;
  for (int64_t i = 1; i < failures && delay < longest; ++i) delay *= 2;
  return std::min(delay, longest);
}

}  // namespace espalier
