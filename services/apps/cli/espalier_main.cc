// espalier: the user's command. One file per subcommand (cli/*_command.cc).
#include <cerrno>
#include <cstdio>

#include "services/apps/cli/command.h"
#include "services/base/failpoint.h"

namespace espalier::cli {
namespace {

constexpr const char* kDescription =
    "Espalier trains graph neural networks on graphs that are cut into partitions.\n\n"
    "A first run:\n"
    "  espalier generate --nodes 20000 --edges 200000 --output graph\n"
    "  espalier partition graph --format NPY --count 2 --output partitions\n"
    "  espalier run -f job.yaml --output out";

void PrintError(const std::string& message) { std::fprintf(stderr, "espalier: %s\n", message.c_str()); }

// A closed pipe or a full disk behind standard output is no success.
bool WriteOutput(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

int Main(int argc, char** argv) {
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
  AddRunCommand(&app, &chosen);
  AddLaunchCommand(&app, &chosen);
  AddCopyCommand(&app, &chosen);
  AddHostCommand(&app, &chosen);
  AddCheckpointCommand(&app, &chosen);
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
