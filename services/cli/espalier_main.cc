// The main function of the command line tool `espalier`. Each subcommand has a file of its own (cli/*_command.cc).
// Parsing selects the function of one subcommand; main executes it, prints its outcome and returns its exit code.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>

#include "services/base/failpoint.h"
#include "services/cli/command.h"
#include "services/telemetry/termination.h"
#include "services/terminal/unknown_command.h"

namespace espalier::cli {
namespace {

constexpr const char* kDescription =
    "Espalier trains graph neural networks on graphs that are cut into partitions.\n\n"
    "A first run:\n"
    "  espalier generate --nodes 20000 --edges 200000 --output graph\n"
    "  espalier partition graph --format NPY --count 2 --output partitions\n"
    "  espalier run -f job.yaml --output out";

void PrintError(const std::string& message) { std::fprintf(stderr, "espalier: %s\n", message.c_str()); }

// Returns false if not all of `text` could be written, for example to a closed pipe or a full disk.
bool WriteOutput(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

// Returns the words after the first "--" of `run` and `launch`: a user's program with its arguments, which the parser
// must not interpret. Sets *argc to the number of words before the "--". Returns nullopt if there is no "--".
std::optional<std::vector<std::string>> TakeProgram(int* argc, char** argv) {
  const std::string command = *argc > 1 ? argv[1] : "";
  if (command != "run" && command != "launch") return std::nullopt;
  char** const end = argv + *argc;
  char** const mark = std::find(argv, end, std::string_view("--"));
  if (mark == end) return std::nullopt;
  *argc = static_cast<int>(mark - argv);
  return std::vector<std::string>(mark + 1, end);
}

int Main(int argc, char** argv) {
  telemetry::InstallOutOfMemoryHandler();
  std::signal(SIGPIPE, SIG_IGN);  // writing to a closed pipe returns an error instead
  const std::optional<std::vector<std::string>> program = TakeProgram(&argc, argv);
  if (program.has_value() && program->empty()) {
    PrintError("-- must be followed by your program: expected -- PROGRAM [ARGUMENT...]");
    return static_cast<int>(ExitCode::kBadDocument);
  }
  CLI::App app{kDescription, "espalier"};
  app.footer("Exit codes: docs/exit-codes.md");
  app.require_subcommand(1);
  app.set_version_flag("--version", ESPALIER_VERSION);
  Command chosen;
  AddGenerateCommand(&app, &chosen);
  AddImportCommand(&app, &chosen);
  AddPartitionCommand(&app, &chosen);
  AddInspectCommand(&app, &chosen);
  AddVerifyCommand(&app, &chosen);
  AddRunCommand(&app, program.value_or(std::vector<std::string>()), &chosen);
  AddLaunchCommand(&app, program.value_or(std::vector<std::string>()), &chosen);
  AddCopyCommand(&app, &chosen);
  AddHostCommand(&app, &chosen);
  AddCheckpointCommand(&app, &chosen);
  AddFetchScriptCommand(&app, &chosen);
  if (const std::string unknown = terminal::UnknownCommand(app, "espalier", argc, argv); !unknown.empty()) {
    PrintError(unknown);
    return static_cast<int>(ExitCode::kBadDocument);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kBadDocument);
  }

  if (const Status armed = ArmFailpointsFromEnvironment(); !armed.ok()) {
    PrintError(armed.message());
    return static_cast<int>(ExitCode::kBadDocument);
  }
  const Outcome outcome = chosen();
  if (!outcome.error.empty()) PrintError(outcome.error);
  if (!WriteOutput(outcome.output)) {
    PrintError(FromErrno(errno, "writing to standard output").message());
    return static_cast<int>(ExitCode::kUnavailable);
  }
  return static_cast<int>(outcome.code);
}

}  // namespace
}  // namespace espalier::cli

int main(int argc, char** argv) { return espalier::cli::Main(argc, argv); }
