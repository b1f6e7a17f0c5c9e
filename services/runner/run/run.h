// `espalier run`: runs a job as processes of this machine.
//
// Flow: job.json -> partitioner -> graph servers -> samplers -> trainer 0 -> other trainers -> result.json.
// job_file.h makes job.json from the document. Servers, samplers and trainers each write a file with their addresses
// when they are ready. recovery_plan.h decides which children are restarted when one dies, and how often
// (docs/recovery.md). With RoleOptions::program, or a program in the document, the user's program runs instead of the
// trainers (docs/programs.md), and no outputs are expected.
//
// Guarantees:
// - When Run returns, or this process is killed in any way, no child runs. Exception: if this process is killed by
//   SIGKILL, processes that a user's program has started may survive (docs/programs.md).
// - Runs in different folders do not interfere: they listen on free ports. A second run in the same folder is refused.
// - An interrupted run is resumed only with `resume`, and its checkpoints are removed only with `restart`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/base/environment.h"
#include "services/base/exit_code.h"
#include "services/job/read_by.h"
#include "services/runner/run/commands.h"
#include "services/runner/run/fleet.h"
#include "services/runner/run/job_file.h"
#include "services/runner/run/tls_files.h"
#include "services/terminal/progress.h"

namespace espalier::run {

struct RunOptions {
  std::string command = "espalier run";  // the command before -f, for the message on how to resume
  job::ReadBy read_by = job::ReadBy::kRunOrRole;
  std::string job_file;               // empty (only with a user's program): `settings` are the whole document
  std::vector<std::string> settings;  // "path=value"
  std::string output_folder;
  bool keep_logs = false;  // keep the logs of an earlier run in the same folder
  bool resume = false;     // resume from the newest checkpoint below the job's output.uri, if there is one
  bool restart = false;    // start from the beginning, even if that removes checkpoints of an unfinished run
  bool tls = false;        // use TLS with certificates made for this run, whatever spec.tls.mode is
  RoleOptions roles;
  EnvironmentMap environment;                                          // of this process: store settings, failpoints
  std::chrono::milliseconds ready_deadline{std::chrono::minutes(10)};  // time for a process to become ready
  std::chrono::milliseconds stop_grace{std::chrono::seconds(15)};      // from SIGTERM to SIGKILL
};

// The result of a run, which the command prints.
struct RunOutcome {
  ExitCode code = ExitCode::kDone;
  std::string error;                 // one or more lines; empty if code is kDone
  std::string result_json;           // set if code is kDone; empty for Copy (launch/launch.h)
  std::vector<std::string> summary;  // lines to print; set if code is kDone
};

// What a FleetMaker gets to create the fleet of a run. All referenced objects outlive the fleet.
struct FleetPlan {
  const RunFolder& folder;
  const RunJob& job;
  const TlsFiles* tls;  // null: plaintext
};
using FleetMaker = std::function<Result<std::unique_ptr<Fleet>>(const FleetPlan&)>;

// Runs the job with processes of this machine. Blocks until the run has ended.
RunOutcome Run(const RunOptions& options, terminal::Progress& progress);
// Runs the job with the processes of a fleet. `make_fleet` is called after the document, the output folder and the
// contents of output.uri have been checked.
RunOutcome Run(const RunOptions& options, terminal::Progress& progress, const FleetMaker& make_fleet);

}  // namespace espalier::run
