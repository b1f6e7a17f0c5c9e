// Flags that `espalier run` and `espalier launch` share.
#pragma once

#include "services/cli/command.h"
#include "services/runner/run/run.h"

namespace espalier::cli {

struct RunFlags {
  run::RunOptions run;
  double ready_seconds = 600;
  double grace_seconds = 15;
  OutputFlags out;
};

// Adds --file, --output and --set. --file is optional if flags->run.roles.program is not empty, so the caller sets that
// before the call.
void AddJobFlags(CLI::App* command, RunFlags* flags);
void AddAccessFlag(CLI::App* command, RunFlags* flags);
void AddResumeFlags(CLI::App* command, RunFlags* flags);
// Adds --keep-logs, --ready-seconds, --grace-seconds, --quiet and --json.
void AddLogAndDeadlineFlags(CLI::App* command, RunFlags* flags);

// Returns the run's options, with this process's environment and the deadlines. The role binaries are those in the
// folder of the running executable.
run::RunOptions MakeRunOptions(const RunFlags& flags);
// Returns the outcome with the text to print: with --json the result, with --quiet none, otherwise the summary.
Outcome ToOutcome(const run::RunOutcome& outcome, const OutputFlags& out);

// Returns the folder of the running executable, or "." if it cannot be determined.
std::string FolderOfThisProgram();

}  // namespace espalier::cli
