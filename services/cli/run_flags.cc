#include "services/cli/run_flags.h"

#include <filesystem>

#include "services/base/environment.h"
#include "services/partitioner/store_access.h"

namespace espalier::cli {
namespace {

std::chrono::milliseconds ToMilliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

}  // namespace

std::string FolderOfThisProgram() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : program.parent_path().string();
}

void AddJobFlags(CLI::App* command, RunFlags* flags) {
  CLI::Option* const file =
      command->add_option("-f,--file", flags->run.job_file,
                          "The DistTraining document, YAML or JSON; optional with -- PROGRAM if --set gives all "
                          "fields");
  if (flags->run.roles.program.empty()) file->required();
  command->add_option("-o,--output", flags->run.output_folder, "Folder for the result, outputs, partitions and logs")
      ->transform(partitioner::LocalPath())
      ->required();
  command->add_option("--set", flags->run.settings, "path=value: changes a field of the document; repeatable")
      ->take_all()
      ->allow_extra_args(false);
}

void AddAccessFlag(CLI::App* command, RunFlags* flags) {
  command
      ->add_option("--access", flags->run.roles.access,
                   "mapped: map the servers' files; rpc: send requests; auto: map files if possible")
      ->check(CLI::IsMember({"mapped", "rpc", "auto"}))
      ->capture_default_str();
}

void AddResumeFlags(CLI::App* command, RunFlags* flags) {
  CLI::Option* resume =
      command->add_flag("--resume", flags->run.resume, "Resume from the newest checkpoint of an interrupted run");
  command
      ->add_flag("--restart", flags->run.restart,
                 "Start over: removes an interrupted run's checkpoints and another job's results from the output")
      ->excludes(resume);
}

void AddLogAndDeadlineFlags(CLI::App* command, RunFlags* flags) {
  command->add_flag("--keep-logs", flags->run.keep_logs, "Keep the logs of an earlier run in the same folder");
  command->add_option("--ready-seconds", flags->ready_seconds, "Time limit for a process to become ready")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  command->add_option("--grace-seconds", flags->grace_seconds, "Time between SIGTERM and SIGKILL for a process")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  AddOutputFlags(command, &flags->out);
}

run::RunOptions MakeRunOptions(const RunFlags& flags) {
  run::RunOptions options = flags.run;
  options.roles.program_folder = FolderOfThisProgram();
  options.environment = ReadEnvironment();
  options.ready_deadline = ToMilliseconds(flags.ready_seconds);
  options.stop_grace = ToMilliseconds(flags.grace_seconds);
  return options;
}

Outcome ToOutcome(const run::RunOutcome& outcome, const OutputFlags& out) {
  if (outcome.code != ExitCode::kDone) return Fail(outcome.code, outcome.error);
  if (out.json) return Done(outcome.result_json);
  if (out.quiet) return Done("");
  std::string text;
  for (const std::string& line : outcome.summary) text += line + "\n";
  return Done(text);
}

}  // namespace espalier::cli
