// Opens the admin port and the port of the ring first, because the ready file contains both addresses. Then opens the
// graph and the mini-batches and connects to the other trainers; after that /readyz reports the process as ready. The
// stop watcher cancels calls to servers through ChannelSettings::stop.
#include "services/trainer/main/run_trainer.h"

#include <memory>
#include <utility>

#include "services/daemon/certificate_metrics.h"
#include "services/job/checks/job_warnings.h"
#include "services/rpc/call_metrics.h"
#include "services/storage/request_metrics.h"
#include "services/telemetry/admin_server.h"
#include "services/telemetry/log.h"
#include "services/telemetry/process.h"
#include "services/telemetry/termination.h"
#include "services/trainer/main/open_graph.h"
#include "services/trainer/main/process_observer.h"
#include "services/trainer/main/stop_watcher.h"
#include "services/trainer/main/trainer_group.h"
#include "services/trainer/main/trainer_log.h"
#include "services/trainer/main/training_status.h"
#include "services/trainer/main/watched_collective.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {

namespace {

using telemetry::Level;
using telemetry::Log;

Status WriteReady(const TrainerFlags& flags, const telemetry::AdminServer& admin, const TrainerGroup& group) {
  if (flags.ready_file.empty()) return Status();
  telemetry::ReadyFile ready;
  ready.admin_address = admin.address();
  ready.rendezvous = group.rendezvous();
  return telemetry::WriteReadyFile(flags.ready_file, ready);
}

// Returns the memory in which the trainers of this machine share feature rows, or null if they share none.
Result<std::shared_ptr<SharedMemory>> OpenSharedRows(const TrainerFlags& flags, const job::DistTraining& job) {
  if (flags.shared_row_memory.has_value()) {
    return SharedMemory::Map(Descriptor(*flags.shared_row_memory)).While("--shared-row-memory");
  }
  const uint64_t bytes = job::SharedRowBytes(job);
  if (flags.shared_row_file.empty() || bytes == 0) return std::shared_ptr<SharedMemory>();
  return SharedMemory::OpenFile(flags.shared_row_file, bytes).While("--shared-row-file");
}

TrainerGpu MakeGpu(const job::DistTraining& job, torch::Device device) {
  TrainerGpu gpu;
  gpu.wanted = job.trainer_device;
  if (device.is_cuda()) gpu.number = device.index();
  return gpu;
}

}  // namespace

Result<ExitCode> RunTrainer(const TrainerFlags& flags, const job::DistTraining& job, storage::StoreSettings stores,
                            MathSettings math, torch::Device device) {
  StopWatcher stop;
  const auto registry = std::make_shared<telemetry::MetricRegistry>();  // shared: calls may end after RunTrainer
  telemetry::MetricRegistry& metrics = *registry;
  metrics.AddProcessMetrics();
  TrainingStatus status(job, flags.job_uid, flags.rank, flags.world_size, flags.incarnation, metrics);
  telemetry::AdminServerOptions admin_options;
  admin_options.listen_address = flags.admin_listen;
  ASSIGN_OR_RETURN(const std::unique_ptr<telemetry::AdminServer> admin,
                   telemetry::AdminServer::Start(admin_options, metrics));
  admin->SetStatusProvider([&] { return status.Json(); });

  rpc::ChannelSettings channel;
  channel.stop = stop.server_call_token();
  channel.metrics = std::make_shared<rpc::CallMetrics>(registry);
  const std::shared_ptr<void> certificate_expiry = daemon::WatchCertificateExpiry(flags.tls, metrics);
  ASSIGN_OR_RETURN(channel.tls, daemon::LoadTls(flags.tls, pki::PeerRole::kTrainer));
  // Listens before slower work begins, so that the other ranks can learn rank 0's port early.
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainerGroup> group, TrainerGroup::Listen(flags, channel.tls));
  RETURN_IF_ERROR(WriteReady(flags, *admin, *group));
  stores.s3.metrics = std::make_shared<storage::RequestMetrics>(metrics);
  ASSIGN_OR_RETURN(const client::Session session, OpenGraph(flags, job, channel, stores).While("opening the graph"));
  Log(Level::kInfo, "graph opened",
      {{"graph", session.graph_name}, {"key", session.partition_key}, {"access", ToString(session.access.front())}});
  ASSIGN_OR_RETURN(const std::unique_ptr<sampler::MiniBatchSource> batches, MakeBatches(flags, job, session, channel));
  ASSIGN_OR_RETURN(std::unique_ptr<collective::Collective> connected,
                   group->Connect(MakeGpu(job, device), MakeTimeouts(flags).ForCollective()));
  WatchedCollective collective(std::move(connected), stop);
  Log(Level::kInfo, "trainers connected", {{"trainers", flags.world_size}, {"backend", collective.backend()}});
  admin->SetReady();

  TrainOptions options;
  options.graph_name = session.graph_name;
  options.warnings = job::JobWarnings(job);
  options.warnings.insert(options.warnings.end(), session.warnings.begin(), session.warnings.end());
  if (!group->warning().empty()) options.warnings.push_back(group->warning());
  RETURN_IF_ERROR(OpenStores(flags, job, stores, &options));
  ASSIGN_OR_RETURN(options.shared_rows, OpenSharedRows(flags, job));
  options.audit_path = flags.audit_path;
  options.partition_key = session.partition_key;
  options.metrics = &metrics;
  options.incarnation = flags.incarnation;
  options.timeouts = MakeTimeouts(flags);
  options.math = std::move(math);
  options.device = device;
  options.stop_requested = &stop.requested();
  ProcessObserver observer(status, stop, job.training.evaluation.metric, /*logs=*/flags.rank == 0);
  options.observer = &observer;
  stop.OnTrainingBegin();
  sampler::PartitionedGraph& graph = *session.graph;
  ASSIGN_OR_RETURN(const TrainOutcome outcome, TrainJob(job, graph, *batches, collective, options));
  if (flags.rank == 0) LogOutcome(outcome, job.training.evaluation.metric);
  telemetry::WriteTermination(MakeTerminationMessage(outcome, session.partition_key, job.training.evaluation.metric));
  admin->SetStatusProvider(nullptr);
  if (outcome.stopped()) stop.CancelServerCalls();  // threads that prefetch may still wait for servers
  return outcome.stopped() ? ExitCode::kAskedToStop : ExitCode::kDone;
}

}  // namespace espalier::trainer
