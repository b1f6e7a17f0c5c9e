// espalier-trainer-process, which espalier-trainer executes (start_trainer_main.cc): runs one rank of a job's
// data-parallel training.
#include "services/base/environment.h"
#include "services/base/exit_code.h"
#include "services/base/failpoint.h"
#include "services/base/heap.h"
#include "services/job/enum_names.h"
#include "services/job/parsing/parse.h"
#include "services/rpc/address_range.h"
#include "services/storage/place_check.h"
#include "services/telemetry/configuration.h"
#include "services/telemetry/log.h"
#include "services/telemetry/process.h"
#include "services/telemetry/termination.h"
#include "services/trainer/main/open_graph.h"
#include "services/trainer/main/run_trainer.h"
#include "services/trainer/main/trainer_flags.h"
#include "services/trainer/ops/cuda_device.h"

namespace espalier::trainer {

namespace {

int Main(int argc, char** argv) {
  telemetry::InstallOutOfMemoryHandler();
  ShareArenas();
  CLI::App app{
      "One rank of a job's training. `espalier run` starts it; by hand:\n\n"
      "  espalier-trainer --job job.yaml --servers 127.0.0.1:7000,127.0.0.1:7001 --output results\n"
      "  espalier-trainer --job job.yaml --partitions partitions/KEY --output results",
      "espalier-trainer"};
  TrainerFlags flags;
  AddTrainerFlags(app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kBadDocument);
  }
  telemetry::LogOptions log;
  SetRankInPod(&flags);
  const Result<telemetry::LogFormat> format = telemetry::ParseLogFormat(flags.log_format);
  if (!format.ok()) return telemetry::Fail(format.status(), ExitCode::kBadDocument);
  log.format = *format;
  log.process_fields = {{"role", "trainer"}, {"rank", flags.rank}};
  telemetry::InitializeLogging(std::move(log));
  telemetry::StopSignal::Install();

  if (const Status status = CheckTrainerFlags(flags); !status.ok())
    return telemetry::Fail(status, ExitCode::kBadDocument);
  if (const Status armed = ArmFailpointsFromEnvironment(); !armed.ok())
    return telemetry::Fail(armed, ExitCode::kBadDocument);
  const Result<job::ParsedJob> job = job::ReadJob(flags.job_file);
  if (!job.ok()) return telemetry::Fail(job.status(), ExitCode::kBadDocument);
  const Result<std::vector<std::string>> samplers = rpc::ExpandAddresses(flags.samplers);
  if (!samplers.ok()) return telemetry::Fail(samplers.status().While("--samplers"), ExitCode::kBadDocument);
  // The actual number of samplers: the document in a pod does not contain it, and it may change during a job.
  job::DistTraining training = job->training;
  training.sampler_replicas = static_cast<uint32_t>(samplers->size());
  // A trainer that opens the graph itself has no peers.
  const Status tls = flags.servers.empty() ? Status() : daemon::CheckTls(training, flags.tls);
  if (!tls.ok()) return telemetry::Fail(tls, ExitCode::kBadDocument);
  const Result<TrainerDevice> device = OpenDevice(training.trainer_device, flags.rank);
  if (!device.ok()) return telemetry::Fail(device.status(), ExitCode::kBadDocument);
  // oneDNN's generated code uses the stack pointer for other addresses, so a signal handler on the same thread would
  // overwrite memory. This thread and the threads that it starts therefore block the signals; StopWatcher's thread
  // handles them.
  telemetry::StopSignal::Install().BlockInThread();
  Result<MathSettings> math = SetUpMath(flags.threads > 0 ? flags.threads : training.trainer_threads);
  if (!math.ok()) return telemetry::Fail(math.status(), ExitCode::kBadDocument);
  math->device = device->name;
  telemetry::LogConfiguration(app, {{"document", telemetry::OneLine(job->effective_json)},
                                    {"rank", flags.rank},
                                    {"job_name", EffectiveJobName(flags, training)},
                                    {"threads", math->threads},
                                    {"blas", math->blas},
                                    {"blas_kernel", math->blas_kernel},
                                    {"torch", math->torch_version},
                                    {"cpu_capability", math->cpu_capability},
                                    {"device", device->name},
                                    {"precision", job::ToString(training.training.precision)},
                                    {"cuda", device->why_cpu}});
  const Result<storage::StoreSettings> stores = storage::ParseStoreSettings(ReadEnvironment());
  if (!stores.ok()) return telemetry::Fail(stores.status(), ExitCode::kBadDocument);
  const Result<ExitCode> ended = RunTrainer(flags, training, *stores, *math, device->device);
  return ended.ok() ? static_cast<int>(*ended)
                    : telemetry::Fail(ended.status(),
                                      storage::FindExitCode(ended.status(), {flags.output_uri, flags.checkpoints},
                                                            storage::OpenerWith(*stores)));
}

}  // namespace
}  // namespace espalier::trainer

int main(int argc, char** argv) { return espalier::trainer::Main(argc, argv); }
