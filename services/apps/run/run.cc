#include "services/apps/run/run.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "services/apps/run/admin_client.h"
#include "services/apps/run/fleet.h"
#include "services/apps/run/job_file.h"
#include "services/apps/run/log_tail.h"
#include "services/apps/run/result_file.h"
#include "services/apps/run/training_view.h"
#include "services/sampler/audit.h"
#include "services/telemetry/process.h"

namespace espalier::run {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStatusDeadline{500};

// Why a run ended early.
struct Stop {
  ExitCode code;
  std::string message;
};

RunOutcome Failed(ExitCode code, std::string message) { return {.code = code, .error = std::move(message)}; }

std::string PluralOf(uint32_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// One run after the folder is locked and the document placed. The members stand in the order of their making; the
// fleet is last, so that it is gone first.
class RunInProgress {
 public:
  RunInProgress(const RunOptions& options, const RunFolder& folder, const RunJob& job, terminal::Progress& progress)
      : options_(options), folder_(folder), job_(job), progress_(progress), fleet_(telemetry::StopSignal::Install()) {
    if (job.training.active_deadline.count() > 0) deadline_ = Deadline::After(job.training.active_deadline);
  }

  // nullopt: everything went well.
  std::optional<Stop> Partition();
  std::optional<Stop> StartServers();
  std::optional<Stop> StartSamplers();
  std::optional<Stop> StartTrainers();
  std::optional<Stop> WaitForTrainers();
  std::optional<Stop> MergeAudit();

  void StopChildren();
  const RunFacts& facts() const { return facts_; }

 private:
  std::optional<Stop> Start(Role role, const ChildSpec& spec);
  std::optional<Stop> WaitReady(const std::string& name, telemetry::ReadyFile* ready);
  std::optional<Stop> StopFor(WaitEnd end, const std::string& doing) const;
  std::optional<Stop> ReadPartitionerAnswer();
  Deadline ReadyDeadline() const;
  void ShowTraining();

  const RunOptions& options_;
  const RunFolder& folder_;
  const RunJob& job_;
  terminal::Progress& progress_;
  std::optional<Deadline> deadline_;  // of the whole run
  RunFacts facts_;
  TrainerPeers peers_;
  std::string rank0_admin_address_;
  Fleet fleet_;
};

Deadline RunInProgress::ReadyDeadline() const {
  return deadline_.has_value() ? deadline_->AtMost(options_.ready_deadline) : Deadline::After(options_.ready_deadline);
}

std::optional<Stop> RunInProgress::StopFor(WaitEnd end, const std::string& doing) const {
  switch (end) {
    case WaitEnd::kDone: return std::nullopt;
    case WaitEnd::kStopRequested: return Stop{ExitCode::kAskedToStop, "stopped while " + doing};
    case WaitEnd::kDeadline: {
      if (deadline_.has_value() && deadline_->HasPassed()) {
        return Stop{ExitCode::kUnavailable, "spec.runPolicy.activeDeadlineSeconds passed while " + doing};
      }
      const std::string why = fleet_.ready_error().ok() ? "" : " (" + fleet_.ready_error().message() + ")";
      return Stop{ExitCode::kUnavailable, "the deadline passed while " + doing + why};
    }
    case WaitEnd::kChildFailed: break;
  }
  const ChildFailure& failure = *fleet_.failure();
  std::string message = failure.name + " ended with " + failure.exit.Describe() + " while " + doing;
  for (const std::string& line : failure.last_lines) message += "\n  " + failure.name + "| " + line;
  message += "\n  whole log: " + failure.log_path;
  // A child that ends with 0 before its time is a bug of ours.
  return Stop{failure.exit.ok() ? ExitCode::kBug : failure.exit.Class(), message};
}

std::optional<Stop> RunInProgress::Start(Role role, const ChildSpec& spec) {
  const Status started = fleet_.Start(role, spec);
  if (started.ok()) return std::nullopt;
  // A program that is missing is an installation of ours that is incomplete, not the user's input.
  const ExitCode code = ExitCodeOf(started.code());
  return Stop{code == ExitCode::kBadInput ? ExitCode::kBug : code, started.message()};
}

std::optional<Stop> RunInProgress::WaitReady(const std::string& name, telemetry::ReadyFile* ready) {
  return StopFor(fleet_.WaitReady(name, folder_.ReadyFile(name), ReadyDeadline(), ready), "waiting for " + name);
}

std::optional<Stop> RunInProgress::Partition() {
  const job::Partitions& partitions = job_.training.graph.partitions;
  progress_.Begin("partitioning");
  const Timer timer;
  if (auto stop = Start(Role::kPartitioner, PartitionerCommand(folder_, options_.roles, partitions.uri))) return stop;
  const auto show = [&] {
    const std::vector<std::string> last = LastLines(folder_.LogFile("partitioner"), 1);
    progress_.Update(-1, last.empty() ? "" : last[0].substr(0, 80));
  };
  if (auto stop = StopFor(fleet_.WaitFinished(Role::kPartitioner, deadline_, show), "partitioning")) return stop;
  if (auto stop = ReadPartitionerAnswer()) return stop;
  progress_.End("partitioned into " + std::to_string(partitions.count) + " in " +
                terminal::DurationText(timer.Seconds()) + ": " + facts_.partition_uri);
  return std::nullopt;
}

// One JSON object on the partitioner's standard output.
std::optional<Stop> RunInProgress::ReadPartitionerAnswer() {
  const std::string path = folder_.OutputFile("partitioner");
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto answer = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto has_text = [&](const char* key) { return answer.contains(key) && answer[key].is_string(); };
  if (!answer.is_object() || !has_text("uri") || !has_text("partitionKey")) {
    return Stop{ExitCode::kBug, "espalier-partitioner did not say where its partitions are: " + path};
  }
  facts_.partition_uri = answer["uri"].get<std::string>();
  facts_.partition_key = answer["partitionKey"].get<std::string>();
  return std::nullopt;
}

std::optional<Stop> RunInProgress::StartServers() {
  const uint32_t count = job_.training.graph.partitions.count;
  progress_.Begin("starting " + PluralOf(count, "graph server"));
  for (uint32_t p = 0; p < count; ++p) {
    const ChildSpec spec = ServerCommand(folder_, options_.roles, job_.training, facts_.partition_uri, p);
    if (auto stop = Start(Role::kServer, spec)) return stop;
  }
  for (uint32_t p = 0; p < count; ++p) {
    telemetry::ReadyFile ready;
    if (auto stop = WaitReady(ChildName("server", p), &ready)) return stop;
    peers_.servers.push_back(ready.address);
  }
  return std::nullopt;
}

std::optional<Stop> RunInProgress::StartSamplers() {
  const uint32_t count = job_.training.sampler_replicas;
  if (count == 0) return std::nullopt;
  progress_.Begin("starting " + PluralOf(count, "sampler"));
  for (uint32_t i = 0; i < count; ++i) {
    if (auto stop = Start(Role::kSampler, SamplerCommand(folder_, options_.roles, i, peers_.servers))) return stop;
  }
  for (uint32_t i = 0; i < count; ++i) {
    telemetry::ReadyFile ready;
    if (auto stop = WaitReady(ChildName("sampler", i), &ready)) return stop;
    peers_.samplers.push_back(ready.address);
  }
  return std::nullopt;
}

std::optional<Stop> RunInProgress::StartTrainers() {
  const uint32_t count = job_.training.trainer_replicas;
  progress_.Begin("starting " + PluralOf(count, "trainer"));
  // Rank 0 first: it knows where the others meet.
  peers_.rendezvous = "127.0.0.1:0";
  if (auto stop = Start(Role::kTrainer, TrainerCommand(folder_, options_.roles, job_.training, 0, peers_))) return stop;
  telemetry::ReadyFile ready;
  if (auto stop = WaitReady(ChildName("trainer", 0), &ready)) return stop;
  rank0_admin_address_ = ready.admin_address;
  peers_.rendezvous = ready.rendezvous;
  if (count > 1 && ready.rendezvous.empty()) {
    return Stop{ExitCode::kBug, "trainer-0 did not say where trainers meet: " + folder_.ReadyFile("trainer-0")};
  }
  for (uint32_t rank = 1; rank < count; ++rank) {
    const ChildSpec spec = TrainerCommand(folder_, options_.roles, job_.training, rank, peers_);
    if (auto stop = Start(Role::kTrainer, spec)) return stop;
  }
  return std::nullopt;
}

std::optional<Stop> RunInProgress::WaitForTrainers() {
  progress_.Begin("training");
  const Timer timer;
  const WaitEnd end = fleet_.WaitFinished(Role::kTrainer, deadline_, [this] { ShowTraining(); });
  if (auto stop = StopFor(end, "training")) return stop;
  progress_.End("trained in " + terminal::DurationText(timer.Seconds()));
  return std::nullopt;
}

// Best effort: a status that cannot be had is no reason for anything.
void RunInProgress::ShowTraining() {
  if (rank0_admin_address_.empty()) return;
  const Result<std::string> answer = AdminGet(rank0_admin_address_, "/status", Deadline::After(kStatusDeadline));
  if (!answer.ok()) return;
  const std::optional<TrainingStatus> status = ParseTrainingStatus(*answer);
  if (status.has_value()) progress_.Update(status->fraction, status->text, status->remaining_seconds);
}

std::optional<Stop> RunInProgress::MergeAudit() {
  if (!options_.roles.audit) return std::nullopt;
  std::vector<std::string> files;
  for (uint32_t rank = 0; rank < job_.training.trainer_replicas; ++rank) {
    files.push_back(folder_.AuditFile(ChildName("trainer", rank)));
  }
  const Result<sampler::AuditSummary> merged = sampler::MergeAudits(files);
  // Trainers that drew differently break what every run promises.
  if (!merged.ok()) return Stop{ExitCode::kBug, "merging the audit: " + merged.status().message()};
  facts_.samples_digest = merged->samples_digest;
  facts_.num_expansions = merged->num_expansions;
  return std::nullopt;
}

void RunInProgress::StopChildren() {
  for (const std::string& name : fleet_.StopAll(options_.stop_grace)) {
    progress_.Note(name + " did not end when asked to, and was killed");
  }
}

// Rank 0 may have written its result before somebody else failed: only a run that went well has one.
RunOutcome FailedAfterStart(const RunFolder& folder, const Stop& stop) {
  std::error_code ignored;
  std::filesystem::remove(folder.ResultFile(), ignored);
  return Failed(stop.code, stop.message);
}

}  // namespace

RunOutcome Run(const RunOptions& options, terminal::Progress& progress) {
  const Timer timer;
  telemetry::StopSignal::Install();
  const Result<job::ParsedJob> parsed = ReadJobFile(options.job_file, options.settings);
  if (!parsed.ok()) return Failed(ExitCode::kBadDocument, parsed.status().message());
  const Result<RunFolder> folder = RunFolder::Open(options.output_folder, options.keep_logs);
  if (!folder.ok()) {
    const StatusCode code = folder.status().code();
    const bool in_use = code == StatusCode::kFailedPrecondition;
    return Failed(in_use ? ExitCode::kBadDocument : ExitCodeOf(code), folder.status().message());
  }
  const Result<RunJob> job = PlaceJob(*parsed, *folder);
  if (!job.ok()) return Failed(ExitCode::kBadDocument, job.status().message());
  for (const std::string& path : job->ignored) progress.Note("ignored: " + path);
  const Status written = telemetry::WriteFileAtomically(folder->JobFile(), job->json);
  if (!written.ok()) return Failed(ExitCodeOf(written.code()), written.message());

  RunInProgress run(options, *folder, *job, progress);
  using Step = std::optional<Stop> (RunInProgress::*)();
  for (const Step step : {&RunInProgress::Partition, &RunInProgress::StartServers, &RunInProgress::StartSamplers,
                          &RunInProgress::StartTrainers, &RunInProgress::WaitForTrainers}) {
    const std::optional<Stop> stop = (run.*step)();
    if (!stop.has_value()) continue;
    run.StopChildren();
    return FailedAfterStart(*folder, *stop);
  }
  run.StopChildren();
  if (const std::optional<Stop> stop = run.MergeAudit()) return FailedAfterStart(*folder, *stop);

  RunFacts facts = run.facts();
  facts.access = options.roles.access;
  facts.total_seconds = timer.Seconds();
  const Result<std::string> result = CompleteResult(*folder, *job, facts);
  if (!result.ok()) return FailedAfterStart(*folder, {ExitCodeOf(result.status().code()), result.status().message()});
  return {.code = ExitCode::kDone, .error = {}, .result_json = *result, .summary = SummaryLines(*result, *folder)};
}

}  // namespace espalier::run
