// The flags that `espalier run` and `espalier launch` have in common.
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

// The document, the folder and what the document says otherwise. The flags know of the program behind "--" already.
void AddJobFlags(CLI::App* command, RunFlags* flags);
void AddAccessFlag(CLI::App* command, RunFlags* flags);
void AddResumeFlags(CLI::App* command, RunFlags* flags);
// Logs, deadlines, output.
void AddPatienceFlags(CLI::App* command, RunFlags* flags);

// With this process's environment and the deadlines in place. The role binaries lie beside this one.
run::RunOptions MakeRunOptions(const RunFlags& flags);
Outcome ToOutcome(const run::RunOutcome& outcome, const OutputFlags& out);

std::string FolderOfThisProgram();

}  // namespace espalier::cli
