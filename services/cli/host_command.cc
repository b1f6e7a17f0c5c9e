// espalier host: the end of a launch on one of its hosts. Started by `espalier launch`, not by people: it is in no
// help.
#include "services/cli/command.h"
#include "services/cli/run_flags.h"
#include "services/runner/launch/host_agent.h"

namespace espalier::cli {
namespace {

Outcome ServeLaunch() {
  launch::HostAgentOptions options;
  options.version = ESPALIER_VERSION;
  options.program_folder = FolderOfThisProgram();
  return {.code = static_cast<ExitCode>(launch::RunHostAgent(options)), .output = {}, .error = {}};
}

}  // namespace

void AddHostCommand(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("host", "What `espalier launch` starts on a host")->group("");
  command->callback([=] { *chosen = ServeLaunch; });
}

}  // namespace espalier::cli
