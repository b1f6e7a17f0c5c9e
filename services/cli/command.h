// Declarations that all subcommands of `espalier` share.
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

// The result of a command. main prints it after all progress bars are cleared.
struct Outcome {
  ExitCode code = ExitCode::kDone;
  std::string output;  // printed to standard output
  std::string error;   // printed to standard error; empty: no error
};

// Each Add function declares a subcommand with its flags. If the command line contains the subcommand, parsing sets
// *chosen to the function that executes it. `program` is the user's program with its arguments, which runs instead of
// the trainers; empty if there is none.
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

// The values of --quiet and --json.
struct OutputFlags {
  bool quiet = false;
  bool json = false;
};
void AddOutputFlags(CLI::App* command, OutputFlags* flags);
void AddJsonFlag(CLI::App* command, bool* json);
terminal::ProgressStyle ToProgressStyle(const OutputFlags& flags);

// Adds --threads and sets *threads to its default, the number of available processors.
void AddThreadsFlag(CLI::App* command, int* threads);

Outcome Done(std::string output);
Outcome Fail(ExitCode code, std::string error);
// Returns a failure with the exit code that ToExitCode gives for `status`. For errors of processing data; errors of
// flags and documents need the other Fail, with kBadDocument.
Outcome Fail(const Status& status);
// Like Fail(status), for data at `uri`, but with kBadDocument instead of kBadInput if the location itself does not
// exist, such as a missing bucket.
Outcome FailAt(const std::string& uri, const Status& status, const storage::StoreOpener& open_store);

}  // namespace espalier::cli
