// espalier copy: copies partitions and folders to the hosts of a job without shared storage. launch::Copy does the
// work; this file parses and checks the flags.
#include "services/base/utf8.h"
#include "services/cli/command.h"
#include "services/cli/host_flags.h"
#include "services/cli/run_flags.h"
#include "services/runner/launch/launch.h"

namespace espalier::cli {
namespace {

constexpr const char* kCopyFooter = R"(Examples:
  espalier copy --hosts hosts.txt --workspace /srv/job --partitions out/partitions/KEY
  espalier copy --hosts hosts.txt --workspace /srv/job --folder my-program

Host h of H gets the partitions p with p mod H = h, and with --replicas also
those of which it serves a further replica. Files are verified block by block;
existing files are not copied again, and an interrupted copy is continued. docs/launch.md)";

struct CopyFlags {
  HostFlags hosts;
  launch::CopyOptions copy;
  OutputFlags out;
};

Outcome CopyToHosts(CopyFlags flags) {
  if (flags.copy.partitions.empty() && flags.copy.folders.empty()) {
    return Fail(ExitCode::kBadDocument, "nothing to copy: name --partitions, --folder or both");
  }
  if (!flags.copy.workspace.starts_with('/')) {
    return Fail(ExitCode::kBadDocument, "--workspace " + flags.copy.workspace + ": expected an absolute path");
  }
  if (!IsUtf8(flags.copy.workspace)) {
    return Fail(ExitCode::kBadDocument, "--workspace: expected a path in UTF-8");
  }
  flags.copy.connect = ToConnectOptions(flags.hosts);
  terminal::Progress progress(ToProgressStyle(flags.out), stderr);
  return ToOutcome(launch::Copy(flags.copy, progress), flags.out);
}

}  // namespace

void AddCopyCommand(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("copy", "Copy partitions and folders to hosts over ssh");
  auto flags = std::make_shared<CopyFlags>();
  command->footer(kCopyFooter);
  AddHostFlags(command, &flags->hosts);
  command
      ->add_option("--workspace", flags->copy.workspace,
                   "Absolute path of a folder on each host; created if it does not exist")
      ->required();
  command->add_option("--partitions", flags->copy.partitions, "Folder of a partitioning, the one with manifest.json");
  command->add_option("--replicas", flags->copy.replicas, "spec.servers.replicasPerPartition of the job")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  command->add_option("--folder", flags->copy.folders, "A folder that is copied to every host's workspace; repeatable")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("-q,--quiet", flags->out.quiet, "No progress, errors only");
  command->callback([=] { *chosen = [flags] { return CopyToHosts(*flags); }; });
}

}  // namespace espalier::cli
