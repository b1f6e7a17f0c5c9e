// The termination message: why a process ended, in at most 4 KiB of JSON. The kubelet reads it from the file
// /dev/termination-log; `espalier run` passes another file.
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
    std::string hash;  // the partition key
    uint64_t bytes = 0;
    double cut = 0;  // number of edges between partitions, divided by the number of all edges
  };

  ExitCode code = ExitCode::kDone;
  std::string message;
  std::optional<Partition> partition;
  std::vector<Field> metrics;      // at the end of the run ("testAccuracy")
  std::string script_sha256 = {};  // of the script of trainers.program; only from `espalier fetch-script`
};

// "Done", "BadDocument", "BadInput", "Internal", "Unavailable", "Stopped", "NotPermitted"
const char* TerminationReason(ExitCode code);

// Returns the message as one line of JSON of at most kMaxTerminationBytes. Shortens a long "message" in the middle; if
// that is not enough, omits the metrics, and last everything but reason and exit code.
std::string TerminationJson(const TerminationMessage& message);

// Writes the message to the file named by ESPALIER_TERMINATION_LOG; does nothing if the variable is not set. Overwrites
// the file in place, because it is a mount in a container. Logs a failed write and returns no error, because the
// process ends anyway.
void WriteTermination(const TerminationMessage& message);
// Writes the message for an error.
void WriteTermination(const Status& status, ExitCode code);
// Logs the error that ends the process, writes the message for it, and returns `code` as the exit status of main. The
// first overload derives the exit code from the status code.
int Fail(const Status& status);
int Fail(const Status& status, ExitCode code);
// Returns the exit code for the main function of a user's program: 0 for OK. Prints an error to standard error and
// writes it as the termination message, which `espalier run` shows as the reason.
int EndOfProgram(const Status& status);

// Installs a handler that ends the process after an uncaught std::bad_alloc, with exit code kUnavailable, a line on
// standard error and a termination message. Without the handler the process would abort, which looks like a bug. Call
// it once, at the start of main.
void InstallOutOfMemoryHandler();

// Returns the "message" in the termination message at `path`; empty if there is none.
std::string ReadTerminationMessage(const std::string& path);

}  // namespace espalier::telemetry
