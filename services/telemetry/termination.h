// Why a process ended, in at most 4 KiB of JSON for whoever started it: the kubelet's termination message (the
// file /dev/termination-log), or a file of `espalier run`.
//
//   {"reason": "BadInput", "exitCode": 65, "message": "...", "partition": {"hash", "bytes", "cut"},
//    "script": {"sha256": "..."}, "metrics": {"testAccuracy": 0.81}}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/base/exit_code.h"
#include "services/telemetry/log.h"

namespace espalier::telemetry {

constexpr size_t kMaxTerminationBytes = 4096;

struct TerminationMessage {
  struct Partition {
    std::string hash;  // the partitioning's key
    uint64_t bytes = 0;
    double cut = 0;  // share of the edges
  };

  ExitCode code = ExitCode::kDone;
  std::string message;
  std::optional<Partition> partition;
  std::vector<Field> metrics;      // final ones
  std::string script_sha256 = {};  // of a program's script that was read; empty: none was
};

// "Done", "BadDocument", "BadInput", "Internal", "Unavailable", "Stopped", "NotPermitted"
const char* TerminationReason(ExitCode code);

// One line. A message that is too long loses its middle; metrics are left out where even that does not do.
std::string TerminationJson(const TerminationMessage& message);

// To the file that ESPALIER_TERMINATION_LOG names; without it, nothing happens. Overwrites in place (in a container
// the file is a mount). A file that cannot be written is logged and no error: the process ends anyway.
void WriteTermination(const TerminationMessage& message);
// The same for an error.
void WriteTermination(const Status& status, ExitCode code);
// What the main of a user's program ends with, and returns: 0 for ok. An error goes to standard error, and is left as
// last words, which `espalier run` prints as the reason.
int EndOfProgram(const Status& status);

// From here on, an allocation that fails and that nobody catches ends the process with kUnavailable, a line on standard
// error and last words, where the language would abort it as if by a bug. Call once, at the start of main.
void EndByExitCodeWithoutMemory();

// The "message" of what a process left at `path`; empty where there is none.
std::string ReadTerminationMessage(const std::string& path);

}  // namespace espalier::telemetry
