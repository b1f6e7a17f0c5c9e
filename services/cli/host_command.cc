// espalier host: the agent of `espalier launch` on a host. `espalier launch` starts it over ssh; users do not, so the
// help does not list it.
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
  CLI::App* command = app->add_subcommand("host", "The agent that `espalier launch` starts on a host")->group("");
  command->callback([=] { *chosen = ServeLaunch; });
}

}  // namespace espalier::cli
