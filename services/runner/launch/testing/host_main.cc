// Replaces `espalier` on a host in the tests of `espalier launch`. It ignores its arguments and runs the host agent
// with the version in the file "version" in its folder.
#include <filesystem>
#include <fstream>

#include "services/runner/launch/host_agent.h"

int main(int, char** argv) {
  const std::filesystem::path folder = std::filesystem::path(argv[0]).parent_path();
  espalier::launch::HostAgentOptions options;
  std::ifstream(folder / "version") >> options.version;
  options.program_folder = folder;
  return espalier::launch::RunHostAgent(options);
}
