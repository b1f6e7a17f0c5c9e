#include "services/cli/host_flags.h"

#include "services/base/environment.h"
#include "services/cli/run_flags.h"

namespace espalier::cli {

void AddHostFlags(CLI::App* command, HostFlags* flags) {
  launch::SshOptions& ssh = flags->connect.session.ssh;
  command
      ->add_option("--hosts", flags->connect.hosts_file,
                   "File with one host per line, 'ADDRESS [PORT]'; PORT, by default 30050, is the port of the host's "
                   "first graph server")
      ->required();
  command->add_option("--bin", flags->program_folder,
                      "Folder of Espalier's programs on the hosts; default: the same path as on this machine");
  command->add_option("--ssh-user", ssh.user, "User on the hosts; default: from ssh's configuration");
  command->add_option("--ssh-port", ssh.port, "Port of sshd on the hosts; default: from ssh's configuration")
      ->check(CLI::Range(1, 65535));
  command->add_option("--ssh-key", ssh.identity_file, "File of the private key; default: from ssh's configuration");
  command->add_option("--ssh-option", ssh.settings, "Name=value, as for ssh -o; repeatable")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--ssh", ssh.program, "The ssh client")->capture_default_str();
  command->add_option("--connect-seconds", flags->connect_seconds, "Time limit for connecting to a host")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
}

launch::ConnectOptions ToConnectOptions(const HostFlags& flags) {
  launch::ConnectOptions connect = flags.connect;
  const std::string folder = flags.program_folder.empty() ? FolderOfThisProgram() : flags.program_folder;
  connect.session.program = folder + "/espalier";
  connect.session.ssh.program = launch::FindExecutable(connect.session.ssh.program, ReadEnvironment());
  connect.session.version = ESPALIER_VERSION;
  connect.session.ssh.connect_timeout = std::chrono::seconds(flags.connect_seconds);
  // ssh's ConnectTimeout covers the TCP connection and the key exchange. Authentication, the shell and the start of the
  // program take additional time.
  connect.patience = std::chrono::seconds(flags.connect_seconds + 60);
  return connect;
}

}  // namespace espalier::cli
