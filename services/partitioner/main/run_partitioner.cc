// Checks run from cheap to expensive: stores, the output's location, the files that trainers start from, then the
// pipeline, which reads the graph and checks names and values before it cuts. The exit code depends on which check
// failed: names that the graph does not have and a URI whose location does not exist are errors of the document (64),
// other errors in the source are bad input (65).
#include "services/partitioner/main/run_partitioner.h"

#include <unistd.h>

#include <iostream>
#include <memory>
#include <utility>

#include "services/base/clock.h"
#include "services/base/environment.h"
#include "services/job/places.h"
#include "services/job/start_files/start_files.h"
#include "services/partitioner/checks/recorded_values.h"
#include "services/partitioner/counted_store.h"
#include "services/partitioner/main/partitioning_status.h"
#include "services/partitioner/mapping_export.h"
#include "services/partitioner/partition_pipeline.h"
#include "services/partitioner/partition_plan.h"
#include "services/partitioner/report.h"
#include "services/partitioner/stop_watcher.h"
#include "services/storage/open_store.h"
#include "services/storage/place_check.h"
#include "services/storage/request_metrics.h"
#include "services/telemetry/admin_server.h"
#include "services/telemetry/configuration.h"
#include "services/telemetry/log.h"
#include "services/telemetry/process.h"
#include "services/telemetry/termination.h"

namespace espalier::partitioner {
namespace {

using telemetry::Level;
using telemetry::Log;

// After SIGTERM or SIGINT, the process is ended if it has not ended by itself within this time.
constexpr auto kStopGrace = std::chrono::seconds(10);

// Logs the start and the end of each phase, with its seconds.
class PhaseLog {
 public:
  void operator()(std::string_view phase, double fraction) {
    if (phase != phase_) {
      phase_ = phase;
      timer_ = Timer();
      Log(Level::kInfo, "phase started", {{"phase", phase}});
    }
    if (fraction == 1) {
      Log(Level::kInfo, "phase done", {{"phase", phase}, {"seconds", timer_.Seconds()}});
    }
  }

 private:
  std::string phase_;
  Timer timer_;
};

// Logs the progress of downloads at most every ten seconds.
class DownloadLog {
 public:
  void operator()(const std::string& file, uint64_t present_bytes, uint64_t size_bytes) {
    if (timer_.Seconds() < 10) return;
    timer_ = Timer();
    Log(Level::kInfo, "copying the source", {{"file", file}, {"bytes", present_bytes}, {"of_bytes", size_bytes}});
  }

 private:
  Timer timer_;
};

Status Export(const PartitionerFlags& flags, const format::SourceAccess& access, const PartitionOutcome& outcome) {
  if (flags.mappings_folder.empty() || flags.group.rank != 0) return Status();
  ASSIGN_OR_RETURN(const storage::StoreLocation location, access.open_store(outcome.uri));
  return ExportMappings(*location.store, location.prefix, outcome.manifest, LoadOptionsFor(access),
                        flags.mappings_folder)
      .While("exporting mappings");
}

telemetry::TerminationMessage MakeTerminationMessage(const format::Manifest& manifest) {
  telemetry::TerminationMessage::Partition partition{
      .hash = manifest.partition_key, .bytes = 0, .cut = manifest.quality.cut_ratio};
  for (const format::PartitionEntry& entry : manifest.partitions) partition.bytes += entry.size_bytes();
  telemetry::TerminationMessage message;
  message.message = "partitioned";
  message.partition = std::move(partition);
  return message;
}

EnvironmentMap EnvironmentFor(const job::DistTraining& training) {
  EnvironmentMap environment = ReadEnvironment();
  if (!training.s3.endpoint.empty()) environment["AWS_ENDPOINT_URL_S3"] = training.s3.endpoint;
  if (!training.s3.region.empty()) environment["AWS_REGION"] = training.s3.region;
  return environment;
}

// Starts the admin server with /metrics, health checks and /status.
Result<std::unique_ptr<telemetry::AdminServer>> OpenAdminPort(const PartitionerFlags& flags,
                                                              const PartitioningStatus& status,
                                                              telemetry::MetricRegistry& metrics) {
  telemetry::AdminServerOptions options;
  options.listen_address = flags.admin_listen;
  ASSIGN_OR_RETURN(std::unique_ptr<telemetry::AdminServer> admin, telemetry::AdminServer::Start(options, metrics));
  admin->SetStatusProvider([&status] { return status.Json(); });
  return admin;
}

Status PublishReadiness(const PartitionerFlags& flags, telemetry::AdminServer& admin) {
  admin.SetReady();
  if (flags.ready_file.empty()) return Status();
  telemetry::ReadyFile ready;
  ready.admin_address = admin.address();
  return telemetry::WriteReadyFile(flags.ready_file, ready);
}

int WriteReport(const PartitionerFlags& flags, const PartitionOutcome& outcome) {
  telemetry::WriteTermination(MakeTerminationMessage(outcome.manifest));
  const bool as_text = !flags.json && isatty(STDOUT_FILENO) == 1;
  std::cout << (as_text ? ReportAsText(outcome) : ReportAsJson(outcome) + "\n") << std::flush;
  if (!std::cout) return telemetry::Fail(Unavailable("writing the report to standard output"), ExitCode::kUnavailable);
  return static_cast<int>(ExitCode::kDone);
}

// Returns the columns that trainers and samplers use as numbers: weight, seed time and features.
std::vector<std::string> ListNumericColumns(const job::Training& training) {
  std::vector<std::string> names = {training.sampling.draw.weight_column, training.sampling.seed_time};
  std::erase(names, "");
  for (const job::Input& input : training.inputs) {
    names.insert(names.end(), input.features.begin(), input.features.end());
  }
  return names;
}

}  // namespace

int RunPartitioner(const PartitionerFlags& flags, const CLI::App& app, const job::ParsedJob& parsed,
                   const std::string& output_uri, const std::optional<GroupOptions>& group) {
  const job::DistTraining& training = parsed.training;
  StopWatcher stop(kStopGrace);  // before any other thread
  telemetry::MetricRegistry metrics;
  metrics.AddProcessMetrics();
  PartitioningStatus status(training.name, flags.group.rank, flags.group.size, metrics);
  const auto admin = OpenAdminPort(flags, status, metrics);
  if (!admin.ok()) return telemetry::Fail(admin.status(), ToExitCode(admin.status().code()));

  const auto s3_metrics = std::make_shared<storage::RequestMetrics>(metrics);
  Result<format::SourceAccess> access = MakeSourceAccess(EnvironmentFor(training), flags.cache, s3_metrics);
  if (!access.ok()) return telemetry::Fail(access.status(), ExitCode::kBadDocument);
  access->open_store = CountBytes(std::move(access->open_store), status.bytes());
  const Result<storage::StoreLocation> output = access->open_store(output_uri);
  if (!output.ok()) return telemetry::Fail(output.status(), ExitCode::kBadDocument);
  telemetry::LogConfiguration(app, {{"document", telemetry::OneLine(parsed.effective_json)},
                                    {"output", output_uri},
                                    {"data_dir", access->cache.folder},
                                    {"threads", flags.threads},
                                    {"admin", (*admin)->address()}});
  if (const Status ready = PublishReadiness(flags, **admin); !ready.ok())
    return telemetry::Fail(ready, ToExitCode(ready.code()));

  if (const Status reachable = storage::CheckPlace(*output, "partitions"); !reachable.ok()) {
    return telemetry::Fail(reachable, ToExitCodeOfPlace(reachable.code()));
  }

  // Trainers may have their own volumes and credentials, which this process does not have. Start files that only
  // trainers can read are not checked.
  if (!flags.skip_start_file_checks && IsTrainedByEspalier(training, flags.trained_by)) {
    const auto error = start_files::FindStartFileError(training, start_files::SharedWithTrainers{}, access->open_store);
    if (error.has_value()) return telemetry::Fail(error->status, error->exit_code);
  }

  Status document_status;  // set by check_names: an unknown name is an error of the document (64), not of the graph
  access->stop_requested = [&] { return stop.requested(); };
  access->progress = DownloadLog();
  using Names = std::vector<std::string>;
  const std::string& label = training.training.task.label;
  const PartitionPipelineOptions options{
      .threads = flags.threads,
      .memory_bytes = training.partitioner_memory_bytes,
      .train_split = training.training.task.split,
      .label_columns = label.empty() ? Names() : Names{label},
      .complete_columns = ListNumericColumns(training.training),
      .held_out = ToHeldOutEdges(training.training.task),
      // A job that only applies a model does not need the split.
      .needs_split = training.training.epochs > 0,
      .access = *access,
      .group = group,
      .check_names =
          [&](const GraphMetadata& of_graph) {
            document_status = CheckDocument(parsed, flags.trained_by, of_graph);
            return document_status;
          },
      .check_values =
          [&](const GraphMetadata& of_graph) { return CheckRecordedValues(training, flags.trained_by, of_graph); },
      .get_meter = [&](std::string_view phase) { return status.AddMeter(phase); },
      .stop_requested = [&] { return stop.requested(); }};
  const auto progress = [&status, log = PhaseLog()](std::string_view phase, double fraction) mutable {
    log(phase, fraction);
    status.OnPhase(phase, fraction);
  };
  const Result<PartitionOutcome> outcome =
      PartitionGraph(training.graph, training.training.seed, output_uri, progress, options);
  if (!outcome.ok()) {
    if (!document_status.ok()) return telemetry::Fail(outcome.status(), ExitCode::kBadDocument);
    return telemetry::Fail(outcome.status(),
                           storage::FindExitCode(outcome.status(), {training.graph.source.uri}, access->open_store));
  }
  Log(Level::kInfo, outcome->reused ? "partitions reused" : "partitions written",
      {{"uri", outcome->uri}, {"cut_ratio", outcome->manifest.quality.cut_ratio}});
  const Status exported = Export(flags, *access, *outcome);
  if (!exported.ok()) return telemetry::Fail(exported, ToExitCode(exported.code()));
  return WriteReport(flags, *outcome);
}

}  // namespace espalier::partitioner
