// How `espalier run`, `espalier launch` and the operator treat a process that ended with an error: whether its end is
// the cause of a failed group or a consequence of another one's, whether it is retried, and after which delay.
// docs/exit-codes.md has the same policy for users.
#pragma once

#include <chrono>
#include <cstdint>

namespace espalier {

enum class Retry { kNever, kCounted, kNotCounted };

// How likely an end is the cause among the ends of a group, in ascending order. Processes that fail because of a peer
// end within milliseconds of it.
enum class CauseRank {
  kNone,
  kConsequence,     // the supervisor ended the process
  kOtherProcess,    // of the same pod as a process that succeeded
  kPeer,            // 74: a peer, a store or a disk was not available
  kAskedToStop,     // 75
  kUnexpectedExit,  // 0, of a service, which should run until it is stopped
  kDisruption,      // its machine was lost, or an eviction
  kCredentials,     // 77
  kError,           // 70 and codes that no Espalier process has
  kSignal,          // a crash, or a kill from outside
  kMemory,          // the kernel ended it for its use of memory
  kBadInput,        // 64, 65
};

struct FailureRule {
  CauseRank rank = CauseRank::kNone;
  Retry retry = Retry::kCounted;
};

// Returns the rule for a process that exited with `code`, or that `signal` ended (0: none). An exit code above 128 is
// read as shells and the kubelet write it: 128 and the number of a signal.
FailureRule RuleForEnd(int code, int signal);

// Returns the delay before the next attempt: `first` after the first failure, doubled with each further one up to
// `longest`. Without jitter, because the attempts of one group begin together.
std::chrono::milliseconds DelayAfterFailures(int64_t failures, std::chrono::milliseconds first,
                                             std::chrono::milliseconds longest);

}  // namespace espalier
