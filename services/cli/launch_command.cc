// espalier launch: runs a job on several machines over ssh. This file parses the flags; launch::Launch does the work.
//
// The flags are those that `espalier run` has too (run_flags.h), those for ssh (host_flags.h), and those of the hosts'
// processes. An interrupted launch prints the command that resumes it. MakeCommand makes the beginning of that command,
// and run::Run adds the flags that `espalier run` has too.
#include "services/base/utf8.h"
#include "services/cli/command.h"
#include "services/cli/host_flags.h"
#include "services/cli/run_flags.h"
#include "services/runner/launch/launch.h"
#include "services/runner/run/shell_word.h"

namespace espalier::cli {
namespace {

constexpr const char* kLaunchFooter = R"(Examples:
  espalier launch --hosts hosts.txt -f job.yaml --output /shared/out
  espalier launch --hosts hosts.txt -f job.yaml --output out --copy --workspace /srv/job --trainers-per-host 2
  espalier launch --hosts hosts.txt -f job.yaml --output /shared/out --folder mine -- mine/my-program --rate 0.1

A program after -- runs in the place of trainers, in the hosts' workspace (docs/programs.md). Outputs and checkpoints
go to --output, a folder to which the first host has access, or to a bucket (spec.output.uri). Connections between hosts
are encrypted, except with --plaintext. Ctrl-C saves a checkpoint and ends every process on every host. docs/launch.md
lists the flags that replace the options of DGL's launch.py and copy_files.py.)";

struct LaunchFlags {
  RunFlags run;
  HostFlags hosts;
  launch::LaunchOptions launch;
  std::vector<std::string> environment;
  int lost_seconds = 60;
  bool plaintext = false;
  bool all_lines = false;
};

void Declare(CLI::App* command, LaunchFlags* flags) {
  launch::LaunchOptions& launch = flags->launch;
  command->footer(kLaunchFooter);
  AddHostFlags(command, &flags->hosts);
  AddJobFlags(command, &flags->run);
  command->add_option("--workspace", launch.fleet.workspace,
                      "Absolute path of a folder on each host for files of this job; default: the path of --output");
  const auto per_host = CLI::Range(1u, 4096u);
  command->add_option("--servers-per-host", launch.servers_per_host, "Partitions, each with its server, for each host")
      ->check(per_host);
  command->add_option("--samplers-per-host", launch.samplers_per_host, "Samplers for each host")->check(per_host);
  command->add_option("--trainers-per-host", launch.trainers_per_host, "Trainers for each host")->check(per_host);
  command
      ->add_option("--server-threads", launch.fleet.server_threads,
                   "Threads of each graph server; 0: its share of the host's processors")
      ->check(CLI::Range(0u, 1024u))
      ->capture_default_str();
  command
      ->add_option(
          "--env", flags->environment,
          "NAME=VALUE for every process on the hosts, or NAME for the value in this command's environment; repeatable")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--copy", launch.fleet.copy_partitions,
                    "Copy to each host the partitions that it serves; existing files are kept");
  command->add_option("--folder", launch.folders, "A folder that is copied to every host's workspace; repeatable")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--plaintext", flags->plaintext,
                    "Connections between hosts are neither encrypted nor authenticated; as spec.tls.mode: Disabled");
  AddAccessFlag(command, &flags->run);
  AddResumeFlags(command, &flags->run);
  command->add_flag("--logs", flags->all_lines, "Show every line that a process logs; default: warnings and errors");
  command
      ->add_option("--lost-seconds", flags->lost_seconds,
                   "A host that receives nothing from this command for this time ends its processes")
      ->check(CLI::Range(10, 86400))
      ->capture_default_str();
  AddLogAndDeadlineFlags(command, &flags->run);
}

// Parses the values of --env. "NAME=VALUE" sets a variable; "NAME" takes its value from `own`, this process's
// environment.
Result<std::map<std::string, std::string>> ParseEnvironment(const std::vector<std::string>& settings,
                                                            const EnvironmentMap& own) {
  std::map<std::string, std::string> environment;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    if (name.empty()) return InvalidArgument("--env " + setting + ": expected NAME=VALUE or NAME");
    if (equals == std::string::npos && !own.contains(name)) {
      return InvalidArgument("--env " + name + ": this command's environment does not contain it; expected NAME=VALUE");
    }
    const std::string& checked = equals == std::string::npos ? own.at(name) : setting;
    if (!IsUtf8(name + checked)) {
      return InvalidArgument("--env: a name or a value is not UTF-8");
    }
    environment[name] = equals == std::string::npos ? own.at(name) : setting.substr(equals + 1);
  }
  return environment;
}

// Returns the beginning of the command that resumes this launch: the flags for ssh and for the hosts' processes.
// Variables of --env are included without their values, which may be secrets.
std::string MakeCommand(const LaunchFlags& flags) {
  const launch::SshOptions& ssh = flags.hosts.connect.session.ssh;
  std::string command = "espalier launch --hosts " + run::ShellWord(flags.hosts.connect.hosts_file);
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) command += std::string(" ") + flag + " " + run::ShellWord(value);
  };
  add("--bin", flags.hosts.program_folder);
  add("--ssh-user", ssh.user);
  if (ssh.port != 0) add("--ssh-port", std::to_string(ssh.port));
  add("--ssh-key", ssh.identity_file);
  for (const std::string& setting : ssh.settings) add("--ssh-option", setting);
  if (ssh.program != "ssh") add("--ssh", ssh.program);
  add("--workspace", flags.launch.fleet.workspace);
  for (const std::string& setting : flags.environment) add("--env", setting.substr(0, setting.find('=')));
  if (flags.launch.fleet.copy_partitions) command += " --copy";
  const auto add_number = [&](const char* flag, auto number, auto default_number) {
    if (number != default_number) add(flag, std::to_string(number));
  };
  add_number("--server-threads", flags.launch.fleet.server_threads, launch::HostFleetOptions().server_threads);
  add_number("--connect-seconds", flags.hosts.connect_seconds, HostFlags().connect_seconds);
  add_number("--lost-seconds", flags.lost_seconds, LaunchFlags().lost_seconds);
  return command;
}

Outcome LaunchJob(LaunchFlags flags) {
  launch::LaunchOptions options = flags.launch;
  if (!options.fleet.workspace.empty() && !options.fleet.workspace.starts_with('/')) {
    return Fail(ExitCode::kBadDocument, "--workspace " + options.fleet.workspace + ": expected an absolute path");
  }
  if (!IsUtf8(options.fleet.workspace)) {
    return Fail(ExitCode::kBadDocument, "--workspace: expected a path in UTF-8");
  }
  options.run = MakeRunOptions(flags.run);
  options.run.command = MakeCommand(flags);
  if (flags.plaintext) options.run.settings.push_back("tls.mode=Disabled");
  auto environment = ParseEnvironment(flags.environment, options.run.environment);
  if (!environment.ok()) return Fail(ExitCode::kBadDocument, environment.status().message());
  options.fleet.environment = *std::move(environment);
  options.connect = ToConnectOptions(flags.hosts);
  options.fleet.lost_after = std::chrono::seconds(flags.lost_seconds);
  options.fleet.log_lines = flags.all_lines ? launch::LogLines::kAll : launch::LogLines::kWarnings;
  terminal::Progress progress(ToProgressStyle(flags.run.out), stderr);
  return ToOutcome(launch::Launch(std::move(options), progress), flags.run.out);
}

}  // namespace

void AddLaunchCommand(CLI::App* app, const std::vector<std::string>& program, Command* chosen) {
  CLI::App* command = app->add_subcommand("launch", "Run a job on several machines, over ssh");
  auto flags = std::make_shared<LaunchFlags>();
  flags->run.run.roles.program = program;
  Declare(command, flags.get());
  command->callback([=] { *chosen = [flags] { return LaunchJob(*flags); }; });
}

}  // namespace espalier::cli
