// What the subcommands of `espalier` have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "services/base/exit_code.h"
#include "services/base/status.h"
#include "services/storage/open_store.h"
#include "services/terminal/progress.h"

namespace espalier::cli {

// How a command ended. main prints it, after every progress bar is gone.
struct Outcome {
  ExitCode code = ExitCode::kDone;
  std::string output;  // to standard output
  std::string error;   // to standard error
};

// Each Add function declares its subcommand and, when it was given, puts what it does into *chosen. `program`: of the
// user's, with its arguments, that run in the place of trainers; empty: none.
using Command = std::function<Outcome()>;
void AddCheckpointCommand(CLI::App* app, Command* chosen);
void AddCopyCommand(CLI::App* app, Command* chosen);
void AddFetchScriptCommand(CLI::App* app, Command* chosen);
void AddGenerateCommand(CLI::App* app, Command* chosen);
void AddHostCommand(CLI::App* app, Command* chosen);
void AddImportCommand(CLI::App* app, Command* chosen);
void AddInspectCommand(CLI::App* app, Command* chosen);
void AddLaunchCommand(CLI::App* app, const std::vector<std::string>& program, Command* chosen);
void AddPartitionCommand(CLI::App* app, Command* chosen);
void AddRunCommand(CLI::App* app, const std::vector<std::string>& program, Command* chosen);
void AddVerifyCommand(CLI::App* app, Command* chosen);

// --quiet and --json.
struct OutputFlags {
  bool quiet = false;
  bool json = false;
};
void AddOutputFlags(CLI::App* command, OutputFlags* flags);
void AddJsonFlag(CLI::App* command, bool* json);
terminal::ProgressStyle ToProgressStyle(const OutputFlags& flags);

// --threads, by default all processors.
void AddThreadsFlag(CLI::App* command, int* threads);

Outcome Done(std::string output);
Outcome Fail(ExitCode code, std::string error);
// With the code that fits work on data.
Outcome Fail(const Status& status);
// With the code that fits work on the data at `uri`: kBadDocument where no store answers there, as with a bucket that
// does not exist.
Outcome FailAt(const std::string& uri, const Status& status, const storage::StoreOpener& open_store);

}  // namespace espalier::cli
