// How `espalier run`, `espalier launch` and the operator treat a process that has failed: whether its end is the cause
// of the failure of its group or a consequence of another process's end, whether the process is retried, and after
// which delay. docs/exit-codes.md describes the policy for users.
#pragma once

#include <chrono>
#include <cstdint>

namespace espalier {

// Whether a process is retried, and whether the retry counts towards runPolicy.backoffLimit.
enum class Retry { kNever, kCounted, kNotCounted };

// Ranks the ends of the processes of a group by how likely each is the cause of the group's failure, in ascending
// order. The order of the ends in time does not show the cause: processes that fail because of a peer end within
// milliseconds of that peer. Numbers in the comments are exit codes.
enum class CauseRank {
  kNone,
  kConsequence,     // the deletion of the pod was requested, which may have ended the process
  kOtherContainer,  // the process succeeded, but another container of its pod failed
  kPeer,            // 74: a peer, a store, a disk or memory was not available
  kAskedToStop,     // 75
  kUnexpectedExit,  // 0: a service, which should run until it is stopped, exited
  kDisruption,      // the machine was lost, or the pod was evicted
  kCredentials,     // 77
  kError,           // 70 and codes that no Espalier process exits with
  kSignal,          // a crash, or a kill from outside
  kMemory,          // the kernel killed the process because of its use of memory
  kBadInput,        // 64, 65
};

struct FailureRule {
  CauseRank rank = CauseRank::kNone;
  Retry retry = Retry::kCounted;
};

// Returns the rule for a process that exited with `code` or was ended by `signal` (0: none). An exit code above 128
// means that a signal ended the process: shells and the kubelet add 128 to the signal's number.
FailureRule RuleForEnd(int code, int signal);

// Returns the delay before the next attempt: `first` after the first failure, doubled after each further failure, at
// most `longest`. `failures` counts the failures so far, from 1. Without jitter, because the attempts of one group
// begin together.
std::chrono::milliseconds DelayAfterFailures(int64_t failures, std::chrono::milliseconds first,
                                             std::chrono::milliseconds longest);

}  // namespace espalier
