// espalier run: runs a job as processes on this machine. This file parses the flags; run::Run does the work.
#include "services/cli/command.h"
#include "services/cli/run_flags.h"

namespace espalier::cli {
namespace {

constexpr const char* kRunFooter = R"(Examples:
  espalier run -f job.yaml --output out
  espalier run -f job.yaml --output out --set training.epochs=3 --set trainers.replicas=4
  espalier run -f job.yaml --output out --audit --access rpc
  espalier run -f job.yaml --output out -- ./my-program --rate 0.1
  espalier run --set graph.source.uri=my-graph --set graph.source.format=NPY --output out -- ./my-program

A program after -- runs in the place of trainers (docs/programs.md). Processes that die are replaced (docs/recovery.md).
Ctrl-C saves a checkpoint and ends every process of the run; --resume resumes from it. Exit codes:
docs/exit-codes.md; the document: docs/disttraining.md.)";

void Declare(CLI::App* command, RunFlags* flags) {
  command->footer(kRunFooter);
  AddJobFlags(command, flags);
  command->add_flag("--audit", flags->run.roles.audit, "Record the samples; the result then has a samplesDigest");
  AddAccessFlag(command, flags);
  AddResumeFlags(command, flags);
  command->add_flag("--tls", flags->run.tls,
                    "Mutual TLS on every connection, with certificates made for this run; as spec.tls.mode: Managed");
  AddLogAndDeadlineFlags(command, flags);
}

Outcome RunJob(const RunFlags& flags) {
  terminal::Progress progress(ToProgressStyle(flags.out), stderr);
  return ToOutcome(run::Run(MakeRunOptions(flags), progress), flags.out);
}

}  // namespace

void AddRunCommand(CLI::App* app, const std::vector<std::string>& program, Command* chosen) {
  CLI::App* command = app->add_subcommand("run", "Run a job: partition, serve, sample and train on this machine");
  auto flags = std::make_shared<RunFlags>();
  flags->run.roles.program = program;
  Declare(command, flags.get());
  command->callback([=] { *chosen = [flags] { return RunJob(*flags); }; });
}

}  // namespace espalier::cli
