#include "services/runner/launch/ssh_command.h"

#include <unistd.h>

#include <sstream>

#include "services/runner/launch/message.h"
#include "services/runner/run/shell_word.h"

namespace espalier::launch {
namespace {

// ssh(1): "255 if an error occurred". 127 and 126 are the shell's codes for a program that does not exist or cannot be
// executed (POSIX 2.8.2).
constexpr int kSshFailed = 255;
constexpr int kNoSuchProgram = 127;
constexpr int kNotExecutable = 126;
// Exit code of an Espalier version without the subcommand `host`.
constexpr int kUnknownCommand = static_cast<int>(ExitCode::kBadDocument);

bool Contains(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

}  // namespace

std::string FindExecutable(const std::string& program, const EnvironmentMap& environment) {
  if (program.find('/') != std::string::npos) return program;
  std::istringstream folders(FindValue(environment, "PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return folder + "/" + program;
  }
  return program;
}

std::vector<std::string> MakeSshArguments(const SshOptions& options, const std::string& host,
                                          const std::vector<std::string>& command) {
  // The user's settings come first, because ssh takes the first value of a setting. BatchMode: no prompt for a
  // password. ServerAlive: a network that drops packets is noticed within a minute. -T, -x, -a: no terminal, no
  // forwarding of X11 and of the agent.
  std::vector<std::string> arguments;
  for (const std::string& setting : options.settings) arguments.insert(arguments.end(), {"-o", setting});
  for (const std::string& setting :
       {std::string("BatchMode=yes"), "ConnectTimeout=" + std::to_string(options.connect_timeout.count()),
        std::string("ServerAliveInterval=15"), std::string("ServerAliveCountMax=4"),
        std::string("ClearAllForwardings=yes")}) {
    arguments.insert(arguments.end(), {"-o", setting});
  }
  arguments.insert(arguments.end(), {"-T", "-x", "-a"});
  if (options.port != 0) arguments.insert(arguments.end(), {"-p", std::to_string(options.port)});
  if (!options.user.empty()) arguments.insert(arguments.end(), {"-l", options.user});
  if (!options.identity_file.empty()) {
    arguments.insert(arguments.end(), {"-i", options.identity_file, "-o", "IdentitiesOnly=yes"});
  }
  std::string words = "exec";
  for (const std::string& word : command) words += " " + run::ShellWord(word);
  arguments.insert(arguments.end(), {"--", host, words});
  return arguments;
}

Status SshFailure(const std::string& host, const std::string& program, const process::ExitState& exit,
                  const std::string& ssh_output) {
  const std::string words = OneLine(ssh_output);
  const std::string reason = words.empty() ? "" : ": " + words;
  if (exit.code == kNoSuchProgram || exit.code == kNotExecutable) {
    return NotFound(host + " has no " + program + " that can be run: install Espalier there, or name its folder with " +
                    "--bin" + reason);
  }
  if (exit.code == kUnknownCommand) {
    return FailedPrecondition(host + " has another version of " + program + ", which has no command `host`" + reason);
  }
  if (exit.code == kSshFailed &&
      (Contains(ssh_output, "Permission denied") || Contains(ssh_output, "Host key verification failed") ||
       Contains(ssh_output, "REMOTE HOST IDENTIFICATION"))) {
    return Status(StatusCode::kPermissionDenied, "ssh to " + host + " was refused" + reason);
  }
  if (exit.code == kSshFailed) return Unavailable("ssh to " + host + " failed" + reason);
  return Unavailable("the connection to " + host + " ended with " + exit.Describe() + reason);
}

}  // namespace espalier::launch
