// espalier-partitioner: the graph of a job document -> partitions in object storage. Standard output is the report
// (one line of JSON unless a person looks on), standard error the log. Exit codes: docs/exit-codes.md.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <utility>

#include "services/apps/configuration/configuration.h"
#include "services/apps/partitioning/counted_store.h"
#include "services/apps/partitioning/document_names.h"
#include "services/apps/partitioning/mapping_export.h"
#include "services/apps/partitioning/partition_attempt.h"
#include "services/apps/partitioning/partition_pipeline.h"
#include "services/apps/partitioning/partition_plan.h"
#include "services/apps/partitioning/partitioning_status.h"
#include "services/apps/partitioning/recorded_values.h"
#include "services/apps/partitioning/report.h"
#include "services/apps/partitioning/source_values.h"
#include "services/apps/partitioning/stop_watcher.h"
#include "services/apps/partitioning/store_access.h"
#include "services/apps/start_files/start_files.h"
#include "services/base/clock.h"
#include "services/base/exit_code.h"
#include "services/base/failpoint.h"
#include "services/base/parallel.h"
#include "services/job/parse.h"
#include "services/job/places.h"
#include "services/job/read_document.h"
#include "services/storage/open_store.h"
#include "services/storage/request_metrics.h"
#include "services/telemetry/admin_server.h"
#include "services/telemetry/listen_socket.h"
#include "services/telemetry/log.h"
#include "services/telemetry/process.h"
#include "services/telemetry/termination.h"

namespace espalier::partitioning {
namespace {

using telemetry::Level;
using telemetry::Log;

constexpr auto kStopGrace = std::chrono::seconds(10);

struct Flags {
  std::string job_path;
  std::vector<std::string> overrides;
  std::string output_uri;
  std::string mappings_folder;
  CacheFlags cache;
  std::string admin_listen = "127.0.0.1:0";
  std::string ready_file;  // empty: none
  std::string log_format = "auto";
  int threads = AvailableProcessors();
  GroupOptions group;
  int peer_timeout_seconds = 60;
  int start_timeout_seconds = 600;
  TrainedBy trained_by = TrainedBy::kEspalier;
  bool skip_start_files = false;
  bool json = false;
};

void Declare(CLI::App* app, Flags* flags) {
  app->description("Partitions the graph of a job document. What is there already is not made again.");
  app->footer(
      "Examples:\n"
      "  espalier-partitioner --job cora.yaml --output file:///srv/partitions\n"
      "  espalier-partitioner --job large.yaml --output s3://bucket/partitions --rank 2 --world-size 4 --group "
      "monday-1");
  app->add_option("--job", flags->job_path, "The DistTraining document (YAML or JSON)")->required();
  app->add_option("--set", flags->overrides, "path=value: overrides a field, e.g. spec.graph.partitions.count=4");
  app->add_option("--output", flags->output_uri,
                  "Where partitionings lie; default: spec.graph.partitions.uri, else <spec.output.uri>/partitions");
  app->add_option("--export-mappings", flags->mappings_folder,
                  "Also write original -> partition and original -> global ids as .npy files into this folder")
      ->transform(LocalPath());
  AddCacheFlags(app, &flags->cache);
  app->add_option("--threads", flags->threads, "Threads, by default one a processor; results do not depend on them")
      ->check(CLI::Range(1, 1024));
  app->add_option("--rank", flags->group.rank, "This process's number among --world-size, from 0")
      ->envname("ESPALIER_PARTITIONER_RANK")
      ->capture_default_str();
  app->add_option("--world-size", flags->group.size, "Processes that make the partitioning together")
      ->envname("ESPALIER_PARTITIONER_WORLD_SIZE")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app->add_option("--group", flags->group.name,
                  "Name of the group of processes; another one for each try. Needed where there are several")
      ->envname("ESPALIER_PARTITIONER_GROUP");
  app->add_option("--peer-timeout-seconds", flags->peer_timeout_seconds,
                  "How long another process may be silent before this one gives up")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app->add_option("--start-timeout-seconds", flags->start_timeout_seconds, "How long another process may take to start")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app->add_flag_callback(
      "--trained-by-program", [flags] { flags->trained_by = TrainedBy::kProgram; },
      "A program of the user's trains: whether the graph has what spec.training names is not looked at");
  app->add_flag("--skip-start-files", flags->skip_start_files,
                "Does not look for the model, checkpoint and nodes in object storage that trainers start from");
  app->add_option("--admin-listen", flags->admin_listen, "host:port of /metrics, /livez, /readyz and /status")
      ->envname("ESPALIER_ADMIN_LISTEN")
      ->capture_default_str();
  app->add_option("--ready-file", flags->ready_file,
                  "Where to write {\"adminAddress\", \"pid\"} once the process works")
      ->envname("ESPALIER_READY_FILE");
  app->add_option("--log-format", flags->log_format, "auto, text or json")->capture_default_str();
  app->add_flag("--json", flags->json, "Report as one line of JSON on a terminal too");
}

Result<job::ParsedJob> ReadJob(const Flags& flags) {
  ASSIGN_OR_RETURN(const auto overrides, job::ParseSettings(flags.overrides));
  ASSIGN_OR_RETURN(const std::string text, job::ReadDocument(flags.job_path));
  return job::ParseJob(flags.job_path, text, overrides, job::RunsOn::kLaptop, job::SpecTraining::kOptional);
}

Result<std::string> OutputUri(const Flags& flags, const job::DistTraining& training) {
  if (!flags.output_uri.empty()) return flags.output_uri;
  std::string uri = job::PartitionsUri(training);
  if (!uri.empty()) return uri;
  return InvalidArgument(
      "no place for the partitions: expected --output, spec.graph.partitions.uri or spec.output.uri");
}

// One line of log per phase that took its time.
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

// A line about every ten seconds of a download.
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

Status Export(const Flags& flags, const format::SourceAccess& access, const PartitionOutcome& outcome) {
  if (flags.mappings_folder.empty() || flags.group.rank != 0) return Status();
  ASSIGN_OR_RETURN(const storage::StoreLocation location, access.open_store(outcome.uri));
  return ExportMappings(*location.store, location.prefix, outcome.manifest, LoadOptionsFor(access),
                        flags.mappings_folder)
      .While("exporting mappings");
}

int Fail(const Status& status, ExitCode code) {
  Log(Level::kError, "partitioning failed", {{"error", status}, {"exit_code", static_cast<int>(code)}});
  telemetry::WriteTermination(status, code);
  return static_cast<int>(code);
}

telemetry::TerminationMessage LastWords(const format::Manifest& manifest) {
  telemetry::TerminationMessage::Partition partition{
      .hash = manifest.partition_key, .bytes = 0, .cut = manifest.quality.cut_ratio};
  for (const format::PartitionEntry& entry : manifest.partitions) partition.bytes += entry.size_bytes();
  telemetry::TerminationMessage message;
  message.message = "partitioned";
  message.partition = std::move(partition);
  return message;
}

// What the flags say of a group; none where this process works alone.
std::optional<GroupOptions> GroupOf(const Flags& flags) {
  if (flags.group.size <= 1 && flags.group.rank == 0) return std::nullopt;
  GroupOptions group = flags.group;
  group.peer_timeout = std::chrono::seconds(flags.peer_timeout_seconds);
  group.start_timeout = std::chrono::seconds(flags.start_timeout_seconds);
  return group;
}

EnvironmentMap EnvironmentFor(const job::DistTraining& training) {
  EnvironmentMap environment = ReadEnvironment();
  if (!training.s3.endpoint.empty()) environment["AWS_ENDPOINT_URL_S3"] = training.s3.endpoint;
  if (!training.s3.region.empty()) environment["AWS_REGION"] = training.s3.region;
  return environment;
}

// What is asked from outside while the process works.
Result<std::unique_ptr<telemetry::AdminServer>> OpenAdminPort(const Flags& flags, const PartitioningStatus& status,
                                                              telemetry::MetricRegistry& metrics) {
  telemetry::AdminServerOptions options;
  options.listen_address = flags.admin_listen;
  ASSIGN_OR_RETURN(std::unique_ptr<telemetry::AdminServer> admin, telemetry::AdminServer::Start(options, metrics));
  admin->SetStatusProvider([&status] { return status.Json(); });
  return admin;
}

Status SayReady(const Flags& flags, telemetry::AdminServer& admin) {
  admin.SetReady();
  if (flags.ready_file.empty()) return Status();
  telemetry::ReadyFile ready;
  ready.admin_address = admin.address();
  return telemetry::WriteReadyFile(flags.ready_file, ready);
}

int WriteReport(const Flags& flags, const PartitionOutcome& outcome) {
  telemetry::WriteTermination(LastWords(outcome.manifest));
  const bool for_people = !flags.json && isatty(STDOUT_FILENO) == 1;
  std::cout << (for_people ? ReportAsText(outcome) : ReportAsJson(outcome) + "\n") << std::flush;
  if (!std::cout) return Fail(Unavailable("writing the report to standard output"), ExitCode::kUnavailable);
  return static_cast<int>(ExitCode::kDone);
}

// Columns that trainers and samplers compute with.
std::vector<std::string> NumbersOf(const job::Training& training) {
  std::vector<std::string> names = {training.sampling.draw.weight_column, training.sampling.seed_time};
  std::erase(names, "");
  for (const job::Input& input : training.inputs) {
    names.insert(names.end(), input.features.begin(), input.features.end());
  }
  return names;
}

int Partition(const Flags& flags, const CLI::App& app, const job::ParsedJob& parsed, const std::string& output_uri,
              const std::optional<GroupOptions>& group) {
  const job::DistTraining& training = parsed.training;
  StopWatcher stop(kStopGrace);  // before any other thread
  telemetry::MetricRegistry metrics;
  metrics.AddProcessMetrics();
  PartitioningStatus status(training.name, flags.group.rank, flags.group.size, metrics);
  const auto admin = OpenAdminPort(flags, status, metrics);
  if (!admin.ok()) return Fail(admin.status(), ExitCodeOf(admin.status().code()));

  const auto s3_metrics = std::make_shared<storage::RequestMetrics>(metrics);
  Result<format::SourceAccess> access = AccessOf(EnvironmentFor(training), flags.cache, s3_metrics);
  if (!access.ok()) return Fail(access.status(), ExitCode::kBadDocument);
  access->open_store = Counting(std::move(access->open_store), status.bytes());
  const Result<storage::StoreLocation> output = access->open_store(output_uri);
  if (!output.ok()) return Fail(output.status(), ExitCode::kBadDocument);
  configuration::LogConfiguration(app, {{"document", configuration::OneLine(parsed.effective_json)},
                                        {"output", output_uri},
                                        {"data_dir", access->cache.folder},
                                        {"threads", flags.threads},
                                        {"admin", (*admin)->address()}});
  if (const Status ready = SayReady(flags, **admin); !ready.ok()) return Fail(ready, ExitCodeOf(ready.code()));

  if (const Status answers = CheckPlace(*output, "partitions"); !answers.ok()) {
    return Fail(answers, ExitCodeOfPlace(answers.code()));
  }

  // Trainers may have volumes and credentials of their own.
  if (!flags.skip_start_files && IsTrainedByEspalier(training, flags.trained_by)) {
    const auto error = start_files::FindStartFileError(training, start_files::SharedWithTrainers{}, access->open_store);
    if (error.has_value()) return Fail(error->status, error->exit_code);
  }

  Status names;  // kept, because a document that names what is not there is no bad graph
  access->stop_requested = [&] { return stop.requested(); };
  access->progress = DownloadLog();
  using Names = std::vector<std::string>;
  const std::string& label = training.training.task.label;
  const PartitionPipelineOptions options{
      .threads = flags.threads,
      .train_split = training.training.task.split,
      .label_columns = label.empty() ? Names() : Names{label},
      .complete_columns = NumbersOf(training.training),
      .held_out = HeldOutBy(training.training.task),
      // A job that only applies a model can do without.
      .needs_split = training.training.epochs > 0,
      .access = *access,
      .group = group,
      .check_names =
          [&](const GraphNames& of_graph) {
            names = CheckDocument(parsed, flags.trained_by, of_graph);
            return names;
          },
      .check_recorded_values =
          [&](const GraphNames& of_graph) { return CheckRecordedValues(training, flags.trained_by, of_graph); },
      .check_values =
          [&](const GraphNames& of_graph, const graph::SourceGraph& source) {
            return CheckSourceValues(training, flags.trained_by, of_graph, source, flags.threads);
          },
      .meter_of = [&](std::string_view phase) { return status.MeterOf(phase); },
      .stop_requested = [&] { return stop.requested(); }};
  const auto progress = [&status, log = PhaseLog()](std::string_view phase, double fraction) mutable {
    log(phase, fraction);
    status.OnPhase(phase, fraction);
  };
  const Result<PartitionOutcome> outcome =
      PartitionGraph(training.graph, training.training.seed, output_uri, progress, options);
  if (!outcome.ok()) {
    if (!names.ok()) return Fail(outcome.status(), ExitCode::kBadDocument);
    return Fail(outcome.status(), ExitCodeOfFailure(outcome.status(), training.graph.source.uri, access->open_store));
  }
  Log(Level::kInfo, outcome->reused ? "partitions reused" : "partitions written",
      {{"uri", outcome->uri}, {"cut_ratio", outcome->manifest.quality.cut_ratio}});
  const Status exported = Export(flags, *access, *outcome);
  if (!exported.ok()) return Fail(exported, ExitCodeOf(exported.code()));
  return WriteReport(flags, *outcome);
}

int Run(const Flags& flags, const CLI::App& app) {
  const Status admin = telemetry::ParseHostPort(flags.admin_listen).status().While("--admin-listen");
  if (!admin.ok()) return Fail(admin, ExitCode::kBadDocument);
  const std::optional<GroupOptions> group = GroupOf(flags);
  if (group) {
    if (const Status good = CheckGroup(*group); !good.ok()) return Fail(good, ExitCode::kBadDocument);
  }
  const Result<job::ParsedJob> parsed = ReadJob(flags);
  if (!parsed.ok()) return Fail(parsed.status(), ExitCode::kBadDocument);
  const Result<std::string> output_uri = OutputUri(flags, parsed->training);
  if (!output_uri.ok()) return Fail(output_uri.status(), ExitCode::kBadDocument);
  return Partition(flags, app, *parsed, *output_uri, group);
}

int Main(int argc, char** argv) {
  telemetry::EndByExitCodeWithoutMemory();
  CLI::App app{"", "espalier-partitioner"};
  Flags flags;
  Declare(&app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kBadDocument);
  }
  const Result<telemetry::LogFormat> log_format = telemetry::ParseLogFormat(flags.log_format);
  if (!log_format.ok()) return Fail(log_format.status(), ExitCode::kBadDocument);
  telemetry::InitializeLogging({.format = *log_format, .process_fields = {{"role", "partitioner"}}});
  if (const Status armed = ArmFailpointsFromEnvironment(); !armed.ok()) return Fail(armed, ExitCode::kBadDocument);
  return Run(flags, app);
}

}  // namespace
}  // namespace espalier::partitioning

int main(int argc, char** argv) { return espalier::partitioning::Main(argc, argv); }
