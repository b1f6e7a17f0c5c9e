// espalier run: a whole job as processes of this machine.
#include <filesystem>

#include "services/apps/cli/command.h"
#include "services/apps/run/run.h"
#include "services/base/environment.h"

namespace espalier::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  espalier run -f job.yaml --output out
  espalier run -f job.yaml --output out --set training.epochs=3 --set trainers.replicas=4
  espalier run -f job.yaml --output out --audit --access rpc

Processes that die are replaced (docs/recovery.md). Ctrl-C saves a checkpoint and ends every process of the run;
--resume goes on from there. Exit codes: docs/exit-codes.md; the document: docs/disttraining.md.)";

struct Flags {
  run::RunOptions run;
  double ready_seconds = 600;
  double grace_seconds = 15;
  OutputFlags out;
};

// The role binaries lie beside this one.
std::string FolderOfThisProgram() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : program.parent_path().string();
}

void Declare(CLI::App* command, Flags* flags) {
  command->footer(kFooter);
  command->add_option("-f,--file", flags->run.job_file, "The DistTraining document, YAML or JSON")->required();
  command->add_option("-o,--output", flags->run.output_folder, "Folder for the result, outputs, partitions and logs")
      ->required();
  command->add_option("--set", flags->run.settings, "path=value: changes a field of the document; repeatable")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--audit", flags->run.roles.audit, "Record what is sampled; samplesDigest in the result");
  command
      ->add_option("--access", flags->run.roles.access,
                   "mapped: share the servers' files; rpc: never; auto: if possible")
      ->check(CLI::IsMember({"mapped", "rpc", "auto"}))
      ->capture_default_str();
  CLI::Option* resume =
      command->add_flag("--resume", flags->run.resume, "Go on from the newest checkpoint of an interrupted run");
  command
      ->add_flag("--restart", flags->run.restart, "Begin anew: removes the checkpoints of an interrupted run, if any")
      ->excludes(resume);
  command->add_flag("--tls", flags->run.tls,
                    "Mutual TLS on every connection, with certificates made for this run; as spec.tls.mode: Managed");
  command->add_flag("--keep-logs", flags->run.keep_logs, "Keep the logs of an earlier run in the same folder");
  command->add_option("--ready-seconds", flags->ready_seconds, "How long a process may take to get ready")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  command->add_option("--grace-seconds", flags->grace_seconds, "From asking a process to end to killing it")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  AddOutputFlags(command, &flags->out);
}

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

Outcome RunJob(Flags flags) {
  flags.run.roles.program_folder = FolderOfThisProgram();
  flags.run.environment = ReadEnvironment();
  flags.run.ready_deadline = Milliseconds(flags.ready_seconds);
  flags.run.stop_grace = Milliseconds(flags.grace_seconds);
  terminal::Progress progress(StyleOf(flags.out), stderr);
  const run::RunOutcome outcome = run::Run(flags.run, progress);
  if (outcome.code != ExitCode::kDone) return Fail(outcome.code, outcome.error);
  if (flags.out.json) return Done(outcome.result_json);
  std::string text;
  for (const std::string& line : outcome.summary) text += line + "\n";
  return Done(text);
}

}  // namespace

void AddRunCommand(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("run", "Run a job: partition, serve, sample and train on this machine");
  auto flags = std::make_shared<Flags>();
  Declare(command, flags.get());
  command->callback([=] { *chosen = [flags] { return RunJob(*flags); }; });
}

}  // namespace espalier::cli
