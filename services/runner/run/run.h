// `espalier run`: a whole job as processes of this machine.
//
// Flow: job.json -> partitioner -> graph servers -> samplers -> trainer 0 -> other trainers -> result.json.
// Each child says that it is ready, and where, in a file. A child that dies is replaced (recovery_plan.h,
// docs/recovery.md), until a limit is reached.
// With RoleOptions::program, or one that the document names, a user's program is in the trainers' place
// (docs/programs.md), and of outputs nothing is expected. Guarantees: when Run returns, or this process is killed in
// any way, no child runs (where it is killed with SIGKILL, what a user's program has started in turn may:
// docs/programs.md); two runs in different folders do not meet (every port is picked by the kernel); two runs in one
// folder are refused; an interrupted run goes on only where `resume` asks for it, and its checkpoints are removed only
// where `restart` asks for it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/base/environment.h"
#include "services/base/exit_code.h"
#include "services/job/runs_on.h"
#include "services/runner/run/commands.h"
#include "services/runner/run/fleet.h"
#include "services/runner/run/job_file.h"
#include "services/runner/run/tls_files.h"
#include "services/terminal/progress.h"

namespace espalier::run {

struct RunOptions {
  std::string command = "espalier run";  // as the user typed it, up to -f
  job::RunsOn runs_on = job::RunsOn::kLaptop;
  std::string job_file;               // empty: `settings` say all, of a user's program
  std::vector<std::string> settings;  // "path=value"
  std::string output_folder;
  bool keep_logs = false;  // of an earlier run in the same folder
  bool resume = false;     // go on from the newest checkpoint of the job's prefix, if there is one
  bool restart = false;    // begin anew, even where that removes checkpoints of a run that did not end
  bool tls = false;        // with certificates of its own, even where the document does not say Managed
  RoleOptions roles;
  EnvironmentMap environment;                                          // this process's: stores, failpoints
  std::chrono::milliseconds ready_deadline{std::chrono::minutes(10)};  // of each process
  std::chrono::milliseconds stop_grace{std::chrono::seconds(15)};      // from SIGTERM to SIGKILL
};

// What is printed and returned.
struct RunOutcome {
  ExitCode code = ExitCode::kDone;
  std::string error;                 // several lines; empty when done
  std::string result_json;           // when done
  std::vector<std::string> summary;  // when done
};

// What a run needs to know to make its fleet. All of it outlives the fleet.
struct FleetPlan {
  const RunFolder& folder;
  const RunJob& job;
  const TlsFiles* tls;  // null: plaintext
};
using FleetMaker = std::function<Result<std::unique_ptr<Fleet>>(const FleetPlan&)>;

// With processes of this machine.
RunOutcome Run(const RunOptions& options, terminal::Progress& progress);
// With those of the fleet that `make_fleet` makes, once the document, the folder and the prefix are found good.
RunOutcome Run(const RunOptions& options, terminal::Progress& progress, const FleetMaker& make_fleet);

}  // namespace espalier::run
