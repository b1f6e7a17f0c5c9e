// espalier-trainer-process, which espalier-trainer becomes (start_trainer_main.cc): one rank of a job's data-parallel
// training.
#include <stop_token>

#include "services/base/environment.h"
#include "services/base/exit_code.h"
#include "services/base/failpoint.h"
#include "services/base/heap.h"
#include "services/client/remote/remote_mini_batch_source.h"
#include "services/client/session.h"
#include "services/daemon/certificate_metrics.h"
#include "services/job/job_warnings.h"
#include "services/rpc/address_range.h"
#include "services/rpc/call_metrics.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/storage/local_cache.h"
#include "services/storage/open_store.h"
#include "services/storage/request_metrics.h"
#include "services/telemetry/admin_server.h"
#include "services/telemetry/configuration.h"
#include "services/telemetry/log.h"
#include "services/telemetry/process.h"
#include "services/telemetry/termination.h"
#include "services/telemetry/warnings_prefix.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/main/stop_watcher.h"
#include "services/trainer/main/trainer_flags.h"
#include "services/trainer/main/trainer_group.h"
#include "services/trainer/main/training_status.h"
#include "services/trainer/main/watched_collective.h"
#include "services/trainer/model/model_file.h"
#include "services/trainer/ops/math_setup.h"
#include "services/trainer/outputs.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using telemetry::Level;
using telemetry::Log;

Timeouts TimeoutsOf(const TrainerFlags& flags) {
  return {std::chrono::seconds(flags.data_timeout_seconds), std::chrono::seconds(flags.collective_timeout_seconds)};
}

const std::string& JobNameOf(const TrainerFlags& flags, const job::DistTraining& job) {
  return flags.job_name.empty() ? job.name : flags.job_name;
}

Result<client::Session> OpenGraph(const TrainerFlags& flags, const job::DistTraining& job,
                                  const rpc::ChannelSettings& channel, const storage::StoreSettings& stores) {
  client::SessionOptions options;
  options.channel = channel;
  if (flags.servers.empty()) {
    options.standalone.partitions_uri = flags.partitions_uri;
    options.standalone.stores = stores;
    options.standalone.cache = {
        .folder = flags.data_dir.empty() ? storage::DefaultCacheFolder(ReadEnvironment()) : flags.data_dir,
        .max_bytes = flags.cache_bytes};
  } else {
    ASSIGN_OR_RETURN(options.addresses, rpc::ExpandAddresses(flags.servers));
  }
  options.job = JobNameOf(flags, job);
  options.incarnation = flags.incarnation;
  options.connect_timeout = std::chrono::seconds(flags.connect_seconds);
  ASSIGN_OR_RETURN(options.access, client::ParseAccess(flags.access));
  return client::Connect(options);
}

Result<std::unique_ptr<sampler::MiniBatchSource>> MakeBatches(const TrainerFlags& flags, const job::DistTraining& job,
                                                              const client::Session& session,
                                                              const rpc::ChannelSettings& channel) {
  const job::Training& training = job.training;
  const graph::GraphSchema& schema = session.graph->book().schema();
  ASSIGN_OR_RETURN(const sampler::EpochPlan plan, EpochPlanOf(training, schema, flags.world_size, Rank(flags.rank)));
  ASSIGN_OR_RETURN(const sampler::SamplingSpec spec, SamplingSpecOf(training.sampling, schema, training.seed));
  if (flags.samplers.empty()) {
    sampler::LocalSamplingOptions options;
    options.threads = flags.sampler_threads;
    options.step_timeout = TimeoutsOf(flags).data;
    return std::unique_ptr<sampler::MiniBatchSource>(
        new sampler::LocalMiniBatchSource(*session.graph, *session.graph, spec, plan, options));
  }
  client::RemoteMiniBatchOptions options;
  options.channel = channel;
  ASSIGN_OR_RETURN(options.samplers, rpc::ExpandAddresses(flags.samplers));
  options.partition_key = session.partition_key;
  options.job = JobNameOf(flags, job);
  options.incarnation = flags.incarnation;
  ASSIGN_OR_RETURN(std::unique_ptr<client::RemoteMiniBatchSource> source,
                   client::RemoteMiniBatchSource::Make(session.graph->book(), plan, spec, options));
  return std::unique_ptr<sampler::MiniBatchSource>(std::move(source));
}

void LogEpoch(const EpochReport& report, job::Metric metric) {
  std::vector<telemetry::Field> fields = {{"epoch", report.epoch}, {"loss", report.loss}};
  if (report.validation.has_value()) fields.push_back({ResultKey("validation", metric), *report.validation});
  const SecondsSplit& seconds = report.seconds;
  for (telemetry::Field field : std::initializer_list<telemetry::Field>{{"seconds", report.total_seconds},
                                                                        {"sample", seconds.sample},
                                                                        {"fetch", seconds.fetch},
                                                                        {"wait", seconds.wait},
                                                                        {"compute", seconds.compute},
                                                                        {"communicate", seconds.communicate},
                                                                        {"evaluate", seconds.evaluate}}) {
    fields.push_back(std::move(field));
  }
  Log(Level::kInfo, "epoch", fields);
}

void LogOutcome(const TrainOutcome& outcome, job::Metric metric) {
  std::vector<telemetry::Field> fields = {{"epochs", outcome.loop.epochs.size()},
                                          {"best_epoch", outcome.loop.best_epoch},
                                          {"seconds", outcome.total_seconds},
                                          {"parameters_digest", outcome.parameters_digest}};
  if (outcome.test.has_value()) fields.push_back({ResultKey("test", metric), *outcome.test});
  Log(Level::kInfo, outcome.stopped() ? "stopped on request" : "trained", fields);
}

telemetry::TerminationMessage LastWords(const TrainOutcome& outcome, const std::string& partition_key,
                                        job::Metric metric) {
  telemetry::TerminationMessage message;
  message.code = outcome.stopped() ? ExitCode::kAskedToStop : ExitCode::kDone;
  message.message = outcome.stopped() ? "stopped on request" : "trained";
  if (!outcome.stopped() && !outcome.warnings.empty()) {
    message.message = telemetry::kWarningsPrefix + outcome.warnings.front();
    for (size_t i = 1; i < outcome.warnings.size(); ++i) message.message += "; " + outcome.warnings[i];
  }
  message.partition = telemetry::TerminationMessage::Partition{.hash = partition_key};
  message.metrics = {{"epochs", outcome.loop.epochs.size()},
                     {"bestEpoch", outcome.loop.best_epoch},
                     {"parametersDigest", outcome.parameters_digest}};
  if (!outcome.loop.epochs.empty()) message.metrics.push_back({"loss", outcome.loop.epochs.back().loss});
  if (outcome.validation.has_value()) {
    message.metrics.push_back({ResultKey("validation", metric), *outcome.validation});
  }
  if (outcome.test.has_value()) message.metrics.push_back({ResultKey("test", metric), *outcome.test});
  return message;
}

// What the flags and the document name by URI. Nothing is contacted.
Status OpenStores(const TrainerFlags& flags, const job::DistTraining& job, const storage::StoreSettings& settings,
                  TrainOptions* options) {
  if (!flags.output_uri.empty()) {
    ASSIGN_OR_RETURN(options->output, storage::OpenStore(flags.output_uri, settings).While("--output"));
  }
  if (!job.training.model.uri.empty()) {
    ASSIGN_OR_RETURN(
        options->model,
        storage::LocateFile(job.training.model.uri, storage::OpenerWith(settings)).While("spec.training.model.uri"));
  }
  if (!job.output_nodes_uri.empty()) {
    ASSIGN_OR_RETURN(options->chosen_nodes,
                     storage::OpenStore(job.output_nodes_uri, settings).While("spec.output.nodesUri"));
  }
  if (!flags.checkpoints.empty()) {
    ASSIGN_OR_RETURN(options->checkpoints, storage::OpenStore(flags.checkpoints, settings).While("--checkpoints"));
  }
  if (flags.resume == "never") options->resume = ResumeMode::kNever;
  const bool names_place = flags.resume != "auto" && flags.resume != "never";
  if (const std::string& from = names_place ? flags.resume : job.checkpoint.resume_from; !from.empty()) {
    const char* const field = names_place ? "--resume" : "spec.checkpoint.resumeFrom";
    ASSIGN_OR_RETURN(options->resume_from, storage::OpenStore(from, settings).While(field));
  }
  return Status();
}

Status WriteReady(const TrainerFlags& flags, const telemetry::AdminServer& admin, const TrainerGroup& group) {
  if (flags.ready_file.empty()) return Status();
  telemetry::ReadyFile ready;
  ready.admin_address = admin.address();
  ready.rendezvous = group.rendezvous();
  return telemetry::WriteReadyFile(flags.ready_file, ready);
}

Result<ExitCode> Train(const TrainerFlags& flags, const job::DistTraining& job, storage::StoreSettings stores,
                       MathSettings math) {
  StopWatcher stop;
  const auto registry = std::make_shared<telemetry::MetricRegistry>();  // calls may end after Train
  telemetry::MetricRegistry& metrics = *registry;
  metrics.AddProcessMetrics();
  TrainingStatus status(job, flags.job_uid, flags.rank, flags.world_size, flags.incarnation, metrics);
  telemetry::AdminServerOptions admin_options;
  admin_options.listen_address = flags.admin_listen;
  ASSIGN_OR_RETURN(const std::unique_ptr<telemetry::AdminServer> admin,
                   telemetry::AdminServer::Start(admin_options, metrics));
  admin->SetStatusProvider([&] { return status.Json(); });

  rpc::ChannelSettings channel;
  channel.stop = stop.stalled();
  channel.metrics = std::make_shared<rpc::CallMetrics>(registry);
  const std::shared_ptr<void> certificate_expiry = daemon::WatchCertificateExpiry(flags.tls, metrics);
  ASSIGN_OR_RETURN(channel.tls, daemon::LoadTls(flags.tls, pki::PeerRole::kTrainer));
  // Rank 0's port is told to the others before anything else takes time.
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainerGroup> group, TrainerGroup::Listen(flags, channel.tls));
  RETURN_IF_ERROR(WriteReady(flags, *admin, *group));
  stores.s3.metrics = std::make_shared<storage::RequestMetrics>(metrics);
  ASSIGN_OR_RETURN(const client::Session session, OpenGraph(flags, job, channel, stores).While("opening the graph"));
  Log(Level::kInfo, "graph opened",
      {{"graph", session.graph_name}, {"key", session.partition_key}, {"access", NameOf(session.access.front())}});
  ASSIGN_OR_RETURN(const std::unique_ptr<sampler::MiniBatchSource> batches, MakeBatches(flags, job, session, channel));
  ASSIGN_OR_RETURN(std::unique_ptr<collective::Collective> connected,
                   group->Connect(TimeoutsOf(flags).ForCollective()));
  WatchedCollective collective(std::move(connected), stop);
  Log(Level::kInfo, "trainers connected", {{"trainers", flags.world_size}, {"backend", collective.backend()}});
  admin->SetReady();

  TrainOptions options;
  options.graph_name = session.graph_name;
  options.warnings = job::JobWarnings(job);
  options.warnings.insert(options.warnings.end(), session.warnings.begin(), session.warnings.end());
  RETURN_IF_ERROR(OpenStores(flags, job, stores, &options));
  options.audit_path = flags.audit_path;
  options.partition_key = session.partition_key;
  options.metrics = &metrics;
  options.incarnation = flags.incarnation;
  options.timeouts = TimeoutsOf(flags);
  options.math = std::move(math);
  options.stop_requested = &stop.requested();
  options.on_resumed = [&](const RunPosition& position) { status.OnResumed(position); };
  options.on_step = [&](const RunPosition& position) {
    stop.OnStep();
    status.OnStep(position);
  };
  options.on_phase = [&](RunPhase phase, std::optional<double> fraction) { status.OnPhase(phase, fraction); };
  options.on_computing = [&] { stop.OnComputing(); };
  options.on_computed = [&] { stop.OnComputed(); };
  options.on_progress = [&] { stop.OnProgress(); };
  options.on_stopped = [&] { stop.OnLastStep(); };
  options.on_saved = [&] { stop.OnSaved(); };
  options.on_epoch = [&](const EpochReport& report) {
    status.OnEpoch(report);
    if (flags.rank == 0) LogEpoch(report, job.training.evaluation.metric);
  };
  options.on_warning = [&](const std::string& warning) {
    status.OnWarning(warning);
    if (flags.rank == 0) Log(Level::kWarning, "warning", {{"warning", warning}});
  };
  stop.TrainingBegins();
  sampler::PartitionedGraph& graph = *session.graph;
  ASSIGN_OR_RETURN(const TrainOutcome outcome,
                   TrainJob(job, {graph, graph, graph, graph, &graph.embeddings()}, *batches, collective, options));
  if (flags.rank == 0) LogOutcome(outcome, job.training.evaluation.metric);
  telemetry::WriteTermination(LastWords(outcome, session.partition_key, job.training.evaluation.metric));
  admin->SetStatusProvider(nullptr);
  if (outcome.stopped()) stop.GiveUpServers();  // what threads prepare ahead waits for them
  return outcome.stopped() ? ExitCode::kAskedToStop : ExitCode::kDone;
}

int Fail(const Status& status, ExitCode code) {
  Log(Level::kError, "cannot go on", {{"error", status}, {"exit_code", static_cast<int>(code)}});
  telemetry::WriteTermination(status, code);
  return static_cast<int>(code);
}

int Main(int argc, char** argv) {
  telemetry::EndByExitCodeWithoutMemory();
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
  const Result<telemetry::LogFormat> format = telemetry::ParseLogFormat(flags.log_format);
  if (!format.ok()) return Fail(format.status(), ExitCode::kBadDocument);
  log.format = *format;
  log.process_fields = {{"role", "trainer"}, {"rank", flags.rank}};
  telemetry::InitializeLogging(std::move(log));
  telemetry::StopSignal::Install();

  if (const Status status = CheckTrainerFlags(flags); !status.ok()) return Fail(status, ExitCode::kBadDocument);
  if (const Status armed = ArmFailpointsFromEnvironment(); !armed.ok()) return Fail(armed, ExitCode::kBadDocument);
  const Result<job::ParsedJob> job = ReadJob(flags.job_file);
  if (!job.ok()) return Fail(job.status(), ExitCode::kBadDocument);
  const Result<std::vector<std::string>> samplers = rpc::ExpandAddresses(flags.samplers);
  if (!samplers.ok()) return Fail(samplers.status().While("--samplers"), ExitCode::kBadDocument);
  // As many as there are: a pod's document does not have their number, which may change under a job.
  job::DistTraining training = job->training;
  training.sampler_replicas = static_cast<uint32_t>(samplers->size());
  // Who opens the graph alone talks to nobody.
  const Status tls = flags.servers.empty() ? Status() : daemon::CheckTlsOf(training, flags.tls);
  if (!tls.ok()) return Fail(tls, ExitCode::kBadDocument);
  const Result<MathSettings> math = SetUpMath(flags.threads > 0 ? flags.threads : training.trainer_threads);
  if (!math.ok()) return Fail(math.status(), ExitCode::kBadDocument);
  telemetry::LogConfiguration(app, {{"document", telemetry::OneLine(job->effective_json)},
                                    {"rank", flags.rank},
                                    {"job_name", JobNameOf(flags, training)},
                                    {"threads", math->threads},
                                    {"blas", math->blas},
                                    {"blas_kernel", math->blas_kernel},
                                    {"torch", math->torch_version},
                                    {"cpu_capability", math->cpu_capability}});
  const Result<storage::StoreSettings> stores = storage::StoreSettingsOf(ReadEnvironment());
  if (!stores.ok()) return Fail(stores.status(), ExitCode::kBadDocument);
  const Result<ExitCode> ended = Train(flags, training, *stores, *math);
  return ended.ok() ? static_cast<int>(*ended) : Fail(ended.status(), ExitCodeOf(ended.status().code()));
}

}  // namespace
}  // namespace espalier::trainer

int main(int argc, char** argv) { return espalier::trainer::Main(argc, argv); }
