// The main loop: poll the fleet, report the events to the recovery plan, execute the plan's actions (one Do overload
// per action), show the progress, and sleep until the next event or the plan's next deadline. A function that returns a
// Stop ends the loop. The loop ends children only where an action says so; StopChildren ends all of them afterwards.
#include "services/runner/run/run_in_progress.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/base/file.h"
#include "services/base/host_port.h"
#include "services/base/pluralize.h"
#include "services/job/checks/job_warnings.h"
#include "services/runner/run/admin_status.h"
#include "services/runner/run/job_prefix.h"
#include "services/runner/run/local_port.h"
#include "services/runner/run/log_tail.h"
#include "services/runner/run/partitioning_view.h"
#include "services/runner/run/server_numbering.h"
#include "services/runner/run/training_view.h"
#include "services/runner/run/users_document.h"
#include "services/telemetry/process.h"
#include "services/telemetry/termination.h"

namespace espalier::run {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReadyTick{10};  // longest sleep while a child is awaited
constexpr milliseconds kRunningTick{200};
constexpr size_t kLastLines = 15;          // log lines to show for a failure without a termination message
constexpr size_t kLinesBesidesReason = 5;  // log lines to show after a termination message
constexpr size_t kMaxReportBytes = 64 << 20;

PlanOptions MakePlanOptions(const RunContext& context, uint64_t first_incarnation) {
  const RunOptions& options = context.options;
  const job::DistTraining& job = context.job.training;
  PlanOptions plan;
  plan.partitioners = job.partitioner_replicas;
  plan.servers = NumberServers(job).count();
  plan.partitions = job.graph.partitions.count;
  plan.samplers = job.sampler_replicas;
  plan.trainers = job.trainer_replicas;
  plan.trainer_kind = options.roles.has_program() ? TrainerKind::kProgram : TrainerKind::kEspalier;
  plan.first_incarnation = first_incarnation;
  plan.backoff_limit = job.backoff_limit;
  plan.trainer_grace = std::min(plan.trainer_grace, options.stop_grace);
  plan.store_patience = std::min<milliseconds>(plan.store_patience, context.store_patience);
  return plan;
}

// "was killed (signal 9)", "crashed (signal 11)", "ended with exit code 74 (...)"
std::string DescribeExit(const process::ExitState& exit) {
  if (exit.signal == 0) return "ended with " + exit.Describe();
  const bool killed = exit.ToExitCode() == ExitCode::kUnavailable;
  return std::string(killed ? "was killed" : "crashed") + " (signal " + std::to_string(exit.signal) + ")";
}

// Returns text of another process with '?' for each control character, which could affect the terminal. Keeps line
// breaks.
std::string WithoutControls(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }, '?');
  return text;
}

// Returns the strings in the field "warnings" of a process's response; empty if there is no such list.
std::vector<std::string> WarningsIn(const nlohmann::json& answer) {
  std::vector<std::string> warnings;
  if (!answer.is_object() || !answer.contains("warnings")) return warnings;
  for (const nlohmann::json& warning : answer["warnings"]) {
    if (warning.is_string()) warnings.push_back(WithoutControls(warning.get<std::string>()));
  }
  return warnings;
}

// Returns the Stop for a child that could not be started. If its executable is missing, the exit code is 64 for the
// user's program, and 70 (a broken installation) for a binary of Espalier.
Stop ToStop(const Status& status, bool has_program) {
  const ExitCode code = ToExitCode(status.code());
  if (code != ExitCode::kBadInput) return Stop{code, status.message()};
  return Stop{has_program ? ExitCode::kBadDocument : ExitCode::kBug, status.message()};
}

}  // namespace

RunInProgress::RunInProgress(const RunContext& context, uint64_t first_incarnation, std::string reason)
    : context_(context),
      plan_(MakePlanOptions(context, first_incarnation)),
      partitioners_(context.job.training.partitioner_replicas) {
  const auto active = context.job.training.active_deadline;
  if (active.count() > 0) deadline_ = Deadline::After(active);
  state_.attempts.incarnation = first_incarnation;
  state_.reason = std::move(reason);
  // RunRequest has already shown these; the trainers report them again.
  for (const std::string& warning : job::JobWarnings(context.job.training)) shown_warnings_.insert(warning);
}

std::optional<Stop> RunInProgress::Run() {
  if (auto failed = WriteState()) return failed;
  const telemetry::StopSignal& stop = telemetry::StopSignal::Install();
  while (true) {
    if (stop.requested()) return Stop{ExitCode::kAskedToStop, "stopped while " + DescribeActivity()};
    if (auto failed = Report(context_.fleet.Poll())) return failed;
    const std::vector<Action> actions = plan_.Next(Clock::Real().Now());
    for (const Action& action : actions) {
      if (auto failed = std::visit([&](const auto& what) { return Do(what); }, action)) return failed;
    }
    if (succeeded_) return std::nullopt;
    if (!actions.empty()) WritePids();
    if (auto failed = CheckDeadlines()) return failed;
    ShowProgress();
    context_.fleet.WaitForEvent(TimeToSleep());
  }
}

std::optional<Stop> RunInProgress::Report(const FleetEvents& events) {
  const SteadyTime now = Clock::Real().Now();
  for (const ChildReady& event : events.ready) {
    RecordReady(event);
    plan_.OnReady(event.child, now);
  }
  if (!events.ready.empty()) WritePids();  // processes on other machines report their pid with the ready file
  for (const ChildEnded& event : events.ended) {
    plan_.OnEnded(event.child, event.exit, now);
    if (event.child.role != Role::kPartitioner) continue;
    partitioners_.NoteEnd(event.child.index, event.exit.ok());
    if (!partitioners_.all_done()) continue;
    if (auto failed = ReadPartitionerReport()) return failed;
    if (auto failed = ProvidePartitions()) return failed;
  }
  if (events.broken.ok()) return std::nullopt;
  // The error does not name the child, so its role is taken to be that of the latest start. A host reports a failed
  // start a moment after the request: if another role was started in between, at worst the exit code is wrong.
  return ToStop(events.broken, context_.options.roles.has_program() && latest_start_ == Role::kTrainer);
}

void RunInProgress::RecordReady(const ChildReady& event) {
  const auto place = [&](std::vector<std::string>* addresses) {
    if (addresses->size() <= event.child.index) addresses->resize(event.child.index + 1);
    (*addresses)[event.child.index] = event.ready.address;
    addresses_[event.child] = event.ready.address;
  };
  switch (event.child.role) {
    case Role::kPartitioner: return;
    case Role::kServer:
      place(&servers_);
      peers_.servers = AddressesByPartition(NumberServers(context_.job.training), servers_);
      return;
    case Role::kSampler: return place(&peers_.samplers);
    case Role::kTrainer: break;
  }
  if (event.child.index > 0) return;
  peers_.rendezvous = event.ready.rendezvous;
  rank0_is_ready_ = true;
}

std::optional<Stop> RunInProgress::Do(const action::Start& start) {
  BeginPhase(start.child);
  latest_start_ = start.child.role;
  const std::string name = ToString(start.child);
  const bool is_program = start.child.role == Role::kTrainer && context_.options.roles.has_program();
  const Site site = context_.fleet.GetSite(start.child);
  if (is_program && start.child.index == 0) {
    const Result<uint16_t> port = site.rendezvous_port != 0 ? site.rendezvous_port : FindFreePort(site.host);
    if (!port.ok()) return Stop{ToExitCode(port.status().code()), port.status().message()};
    peers_.rendezvous = ToString(HostPort{site.host, *port});
  }
  if (start.child.role == Role::kTrainer && start.child.index > 0 && peers_.rendezvous.empty()) {
    return Stop{ExitCode::kBug,
                "trainer-0 did not report the rendezvous address: " + context_.folder.ReadyFile("trainer-0")};
  }
  const std::string ready_file = site.paths.ReadyFile(name);
  if (start.child.role == Role::kPartitioner) {
    partitioners_.NoteStart(start.child.index);
    // Removes the file of an earlier process. The fleet does so only for children whose readiness it waits for; a
    // partitioner's file only serves ShowPartitioning.
    (void)unlink(ready_file.c_str());
  }
  process::ChildSpec spec = MakeCommand(start.child, site);
  spec.environment.merge(StoreEnvironment(context_.job.training.s3));
  spec.environment.merge(context_.tls == nullptr
                             ? EnvironmentWithoutTls()
                             : context_.tls->MakeEnvironment(start.child.role, site.paths.TlsFolder()));
  spec.environment["ESPALIER_TERMINATION_LOG"] = site.paths.TerminationFile(name);
  spec.environment["ESPALIER_FAILPOINTS"] =
      FailpointsFor(start.child, context_.options.environment, starts_[start.child]++ == 0);
  const bool has_ready_file = start.child.role != Role::kPartitioner && !is_program;
  const Status started = context_.fleet.Start(start.child, spec, has_ready_file ? ready_file : "");
  if (started.ok()) return std::nullopt;
  return ToStop(started, is_program);
}

std::optional<Stop> RunInProgress::Do(const action::BeginIncarnation& begin) {
  state_.attempts = begin.attempts;
  facts_.trainer_restarts = begin.attempts.total - 1;
  facts_.incarnation = begin.attempts.incarnation;
  rank0_is_ready_ = false;
  peers_.rendezvous.clear();
  return WriteState();
}

std::optional<Stop> RunInProgress::WriteState() const {
  const Status written = WriteRunState(context_.folder.StateFile(), state_);
  if (written.ok()) return std::nullopt;
  return Stop{ToExitCode(written.code()), written.message()};
}

std::optional<Stop> RunInProgress::Do(const action::Signal& signal) {
  context_.fleet.Signal(signal.child, signal.signal_number);
  return std::nullopt;
}

std::optional<Stop> RunInProgress::Do(const action::Recovering& recovering) {
  const Failure& failure = recovering.failure;
  const std::string what = ToString(failure.child) + " " + DescribeExit(failure.exit);
  const std::string attempt = recovering.counted ? " (attempt " + std::to_string(recovering.attempt) + " of " +
                                                       std::to_string(recovering.limit) + ")"
                                                 : "";
  if (failure.child.role == Role::kTrainer) {
    state_.reason = what;
    const std::string next = context_.options.roles.has_program()
                                 ? "starting the program again on every rank"
                                 : "restarting trainers from " + NewestPositionText(context_.prefix_for_messages);
    context_.progress.Note(what + "; " + next + attempt);
  } else {
    ++facts_.service_restarts;
    context_.progress.Note(what + "; starting it again" + attempt);
  }
  return std::nullopt;
}

std::optional<Stop> RunInProgress::Do(const action::ProbeStores&) {
  const bool was_away = !stores_.ok();
  stores_ = context_.stores.Check();
  if (!stores_.ok() && !was_away) context_.progress.Note("waiting for the store: " + stores_.message());
  if (stores_.ok() && was_away) context_.progress.Note("the store responds again");
  using Stores = RecoveryPlan::Stores;
  plan_.OnStores(stores_.ok() ? Stores::kReachable : Stores::kUnreachable, Clock::Real().Now());
  return std::nullopt;
}

std::optional<Stop> RunInProgress::Do(const action::Succeed&) {
  const std::string did = context_.options.roles.has_program() ? "the program ran for " : "trained in ";
  context_.progress.End(did + terminal::DurationText(phase_timer_.Seconds()));
  succeeded_ = true;
  return std::nullopt;
}

std::optional<Stop> RunInProgress::Do(const action::GiveUp& give_up) {
  const process::ExitState& exit = give_up.failure.exit;
  const std::string reason = FindReason(give_up.failure.child);
  // For an error in the document, the partitioner's message is sufficient; the log would not help the user.
  const bool is_of_document = give_up.failure.child.role == Role::kPartitioner && !exit.ok() &&
                              exit.ToExitCode() == ExitCode::kBadDocument && !reason.empty();
  if (is_of_document) return Stop{ExitCode::kBadDocument, reason};
  // A child that exits with 0 too early is a bug.
  return Stop{exit.ok() ? ExitCode::kBug : exit.ToExitCode(), FailureText(give_up.failure)};
}

// The message names the store first: the failed process may only have lost a peer that failed because of the store.
std::optional<Stop> RunInProgress::Do(const action::GiveUpOnStores& give_up) {
  return Stop{ExitCode::kUnavailable,
              "the store is still unreachable, so no process is restarted (--resume continues once it responds): " +
                  stores_.message() + "\n" + FailureText(give_up.failure)};
}

// Returns the child's termination message, with positions in job.json replaced by those in the user's document; empty
// if the child left no message.
std::string RunInProgress::FindReason(ChildId child) const {
  const std::string said = telemetry::ReadTerminationMessage(context_.folder.TerminationFile(ToString(child)));
  const std::string job_file = context_.fleet.GetSite(child).paths.JobFile();
  return WithoutControls(TranslatePositions(said, job_file, context_.job.places));
}

// Returns the description of a failure: the termination message, followed by the last lines of the log.
std::string RunInProgress::FailureText(const Failure& failure) const {
  const std::string name = ToString(failure.child);
  const std::string log = context_.folder.LogFile(name);
  std::string text = name + " ended with " + failure.exit.Describe() + " while " + DescribeActivity();
  const std::string reason = FindReason(failure.child);
  if (!reason.empty()) text += ": " + reason;
  for (const std::string& line : LastLines(log, reason.empty() ? kLastLines : kLinesBesidesReason)) {
    text += "\n  " + name + "| " + line;
  }
  return text + "\n  whole log: " + log;
}

std::string RunInProgress::TrainersPhase() const {
  return context_.options.roles.has_program() ? "running the program" : "training";
}

std::string RunInProgress::DescribeActivity() const {
  const auto awaited = context_.fleet.LongestAwaited();
  if (awaited.has_value() && phase_ != TrainersPhase()) return "waiting for " + ToString(awaited->child);
  return phase_;
}

std::optional<Stop> RunInProgress::CheckDeadlines() const {
  if (deadline_.has_value() && deadline_->HasPassed()) {
    return Stop{ExitCode::kUnavailable, "spec.runPolicy.activeDeadlineSeconds passed while " + DescribeActivity()};
  }
  const auto awaited = context_.fleet.LongestAwaited();
  if (!awaited.has_value() || Clock::Real().Now() < awaited->since + context_.options.ready_deadline) {
    return std::nullopt;
  }
  const std::string why = awaited->ready_error.ok() ? "" : " (" + awaited->ready_error.message() + ")";
  const std::chrono::duration<double> limit = context_.options.ready_deadline;
  return Stop{ExitCode::kUnavailable, ToString(awaited->child) + " was not ready within " +
                                          terminal::DurationText(limit.count()) + " (--ready-seconds)" + why};
}

// Reads the JSON object that partitioner 0 printed to standard output: the location and key of the partitions.
std::optional<Stop> RunInProgress::ReadPartitionerReport() {
  const std::string path = context_.folder.OutputFile("partitioner");
  const Result<std::string> text = ReadFile(path, kMaxReportBytes);
  if (!text.ok()) return Stop{ExitCode::kUnavailable, "the report of espalier-partitioner: " + text.status().message()};
  const auto answer = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const auto has_text = [&](const char* key) { return answer.contains(key) && answer[key].is_string(); };
  if (!answer.is_object() || !has_text("uri") || !has_text("partitionKey")) {
    return Stop{ExitCode::kBug, "espalier-partitioner did not report the location of its partitions: " + path};
  }
  facts_.partition_uri = answer["uri"].get<std::string>();
  facts_.partition_key = answer["partitionKey"].get<std::string>();
  const uint32_t count = context_.job.training.graph.partitions.count;
  const bool is_reused = answer.contains("reused") && answer["reused"] == true;
  context_.progress.End((is_reused ? "reused " + Pluralize(count, "existing partition")
                                   : "created " + Pluralize(count, "partition") + " in " +
                                         terminal::DurationText(phase_timer_.Seconds())) +
                        ": " + facts_.partition_uri);
  facts_.warnings = WarningsIn(answer);
  ShowWarnings(*text);
  return std::nullopt;
}

std::optional<Stop> RunInProgress::ProvidePartitions() {
  const Status provided = context_.fleet.ProvidePartitions(facts_.partition_uri, deadline_);
  if (provided.ok()) return std::nullopt;
  if (provided.code() == StatusCode::kDeadlineExceeded && deadline_.has_value() && deadline_->HasPassed()) {
    return Stop{ExitCode::kUnavailable, "spec.runPolicy.activeDeadlineSeconds passed: " + provided.message()};
  }
  const bool is_users_error = provided.code() == StatusCode::kFailedPrecondition;
  return Stop{is_users_error ? ExitCode::kBadDocument : ToExitCode(provided.code()), provided.message()};
}

Life RunInProgress::MakeLife(ChildId child) const {
  const auto address = addresses_.find(child);
  return {.incarnation = state_.attempts.incarnation, .address = address == addresses_.end() ? "" : address->second};
}

process::ChildSpec RunInProgress::MakeCommand(ChildId child, const Site& site) const {
  const RoleOptions& roles = context_.options.roles;
  const job::DistTraining& job = context_.job.training;
  switch (child.role) {
    case Role::kPartitioner:
      return PartitionerCommand(site, roles, job.graph.partitions.uri, partitioners_.PeersFor(child.index));
    case Role::kServer: return ServerCommand(site, job, child.index, MakeLife(child));
    case Role::kSampler: return SamplerCommand(site, roles, job, child.index, peers_.servers, MakeLife(child));
    case Role::kTrainer: break;
  }
  if (roles.has_program()) {
    const bool resumes = context_.options.resume || state_.attempts.total > 1;
    return ProgramCommand(site, roles, job, child.index, peers_,
                          {state_.attempts.incarnation, facts_.partition_key, resumes});
  }
  return TrainerCommand(site, roles, job, child.index, peers_, state_.attempts.incarnation);
}

void RunInProgress::BeginPhase(ChildId child) {
  const job::DistTraining& job = context_.job.training;
  std::string phase;
  switch (child.role) {
    case Role::kPartitioner: phase = "partitioning"; break;
    case Role::kServer: phase = "starting " + Pluralize(NumberServers(job).count(), "graph server"); break;
    case Role::kSampler: phase = "starting " + Pluralize(job.sampler_replicas, "sampler"); break;
    case Role::kTrainer: phase = TrainersPhase(); break;
  }
  // A restarted partitioner, server or sampler does not begin a new phase.
  const bool is_replaced = starts_.contains(child) && child.role != Role::kTrainer;
  if (is_replaced || phase == phase_) return;
  phase_ = phase;
  phase_timer_ = Timer();
  context_.progress.Begin(phase);
}

// Updates the progress display at most every kRunningTick. Best effort: errors of reading a status are ignored.
void RunInProgress::ShowProgress() {
  if (last_shown_.has_value() && Clock::Real().Now() < *last_shown_ + kRunningTick) return;
  last_shown_ = Clock::Real().Now();
  if (phase_ == "partitioning") ShowPartitioning();
  if (!rank0_is_ready_) return;
  const Result<std::string> answer = context_.fleet.FetchStatus({Role::kTrainer, 0});
  if (!answer.ok()) return;
  ShowWarnings(*answer);
  const std::optional<TrainingStatus> status = ParseTrainingStatus(*answer);
  if (!status.has_value()) return;
  if (!context_.options.roles.has_program()) context_.progress.SwitchTo(status->phase);
  if (status->phase == "training") {
    context_.progress.Update(status->fraction, status->text, status->remaining_seconds);
  } else {
    context_.progress.Update(status->fraction, status->text);  // extrapolates the remaining time of the phase
  }
}

void RunInProgress::ShowWarnings(const std::string& json) {
  for (const std::string& warning : WarningsIn(nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false))) {
    if (shown_warnings_.insert(warning).second) context_.progress.Note("warning: " + warning);
  }
}

// Shows the status of partitioner 0, which always runs on this machine.
void RunInProgress::ShowPartitioning() {
  const auto ready = telemetry::ReadReadyFile(context_.folder.ReadyFile(ToString({Role::kPartitioner, 0})));
  if (!ready.ok()) return;
  const Result<std::string> answer = FetchStatusAt(ready->admin_address);
  if (!answer.ok()) return;
  const std::optional<PartitioningView> view = ParsePartitioningStatus(*answer);
  if (view.has_value()) context_.progress.Update(view->fraction, view->text, view->remaining_seconds);
}

// Writes the list of running processes to the state file, for users and tests. Errors are ignored, because the run does
// not depend on this list.
void RunInProgress::WritePids() {
  state_.processes = context_.fleet.Pids();
  (void)WriteRunState(context_.folder.StateFile(), state_);
}

milliseconds RunInProgress::TimeToSleep() const {
  const milliseconds tick = plan_.Awaited().empty() ? kRunningTick : kReadyTick;
  if (!plan_.WakeAt().has_value()) return tick;
  return std::min(tick, std::chrono::ceil<milliseconds>(Deadline::At(*plan_.WakeAt()).Remaining()));
}

std::vector<std::string> RunInProgress::StopChildren() {
  std::vector<std::string> killed = context_.fleet.StopAll(context_.options.stop_grace);
  WritePids();
  return killed;
}

bool RunInProgress::AllTrainersSucceeded() {
  for (uint32_t rank = 0; rank < context_.job.training.trainer_replicas; ++rank) {
    const std::optional<process::ExitState> exit = context_.fleet.ExitState({Role::kTrainer, rank});
    if (!exit.has_value() || !exit->ok()) return false;
  }
  return true;
}

Status RunInProgress::WriteSucceeded() {
  state_.succeeded = true;
  return WriteRunState(context_.folder.StateFile(), state_);
}

}  // namespace espalier::run
