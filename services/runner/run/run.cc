// The stages of a run around its main loop (RunInProgress):
//
//   ReadRequest -> lock the folder -> PlaceJob -> DecideBeginning -> make_fleet -> RemoveEarlierRun -> RunPlaced
//
// Everything that the user may have to correct (exit code 64) is checked first, so that a refused run keeps the results
// and checkpoints of an earlier one. RemoveEarlierRun is the first stage that removes them. RunPlaced runs the loop,
// stops all children in any case, and then publishes the outputs or removes a result that is not valid.
#include "services/runner/run/run.h"

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <future>
#include <thread>

#include "services/base/format_number.h"
#include "services/base/pluralize.h"
#include "services/job/checks/job_warnings.h"
#include "services/job/start_files/start_files.h"
#include "services/runner/run/job_file.h"
#include "services/runner/run/job_prefix.h"
#include "services/runner/run/local_fleet.h"
#include "services/runner/run/plugin_path.h"
#include "services/runner/run/program_path.h"
#include "services/runner/run/publish.h"
#include "services/runner/run/result_file.h"
#include "services/runner/run/run_in_progress.h"
#include "services/runner/run/run_script.h"
#include "services/runner/run/run_state.h"
#include "services/runner/run/server_numbering.h"
#include "services/runner/run/shell_word.h"
#include "services/runner/run/store_probe.h"
#include "services/sampler/batches/audit.h"
#include "services/telemetry/process.h"

namespace espalier::run {
namespace {

RunOutcome Failed(ExitCode code, std::string message) {
  RunOutcome outcome;
  outcome.code = code;
  outcome.error = std::move(message);
  return outcome;
}
RunOutcome Failed(const Status& status) { return Failed(ToExitCode(status.code()), status.message()); }

// Time limit of store requests that only probe a store or obtain text for a message: an unreachable store must not
// delay the run or its end.
constexpr std::chrono::seconds kShortTimeout{2};

struct JobStores {
  storage::StoreLocation prefix;               // the job's output.uri
  storage::StoreLocation prefix_for_messages;  // the same, for the text of messages, with kShortTimeout
  StoreProbe probe;                            // with kShortTimeout
  storage::StoreOpener open_for_messages;      // with kShortTimeout
  std::chrono::seconds patience;               // time limit of the processes' requests
};

Result<JobStores> OpenStores(const RunOptions& options, const RunJob& job) {
  EnvironmentMap environment = options.environment;
  for (const auto& [name, value] : StoreEnvironment(job.training.s3)) environment[name] = value;
  ASSIGN_OR_RETURN(storage::StoreSettings settings, storage::ParseStoreSettings(environment));
  const std::chrono::seconds patience = settings.s3.patience;
  ASSIGN_OR_RETURN(storage::StoreLocation prefix, storage::OpenStore(job.training.output_uri, settings));
  settings.s3.patience = std::min(patience, kShortTimeout);
  ASSIGN_OR_RETURN(storage::StoreLocation for_messages, storage::OpenStore(job.training.output_uri, settings));
  const storage::StoreOpener open_for_messages = storage::OpenerWith(settings);
  return JobStores{std::move(prefix), std::move(for_messages), StoreProbe(job.training, open_for_messages),
                   open_for_messages, patience};
}

// Checks that the options are compatible with the document.
Status CheckOptions(const RunOptions& options, const job::DistTraining& job) {
  if (!options.roles.audit) return Status();
  if (options.roles.has_program()) {
    return InvalidArgument("--audit records the samples of Espalier's trainers: omit it with a program");
  }
  // With expand Once, a node is expanded only in the first hop that reaches it, and this hop depends on a trainer's
  // seeds.
  if (job.training.sampling.draw.expand == sampler::Expand::kOnce && job.trainer_replicas > 1) {
    return InvalidArgument(
        "--audit compares the samples of different trainers for the same node, but with spec.training.sampling.expand "
        "Once these depend on each trainer's seeds: omit --audit, or set spec.trainers.replicas to 1");
  }
  return Status();
}

// How this run begins, depending on what an earlier run left.
struct Beginning {
  uint64_t incarnation = 1;
  std::string reason;
  EarlierRun replaced;          // the earlier run to remove
  bool has_checkpoint = false;  // whether the run starts from a checkpoint below output.uri
};

std::string CheckpointsText(const EarlierRun& earlier) {
  return Pluralize(earlier.num_complete(), "checkpoint") + ", the newest at " + PositionText(earlier);
}

// Returns the position from which trainers start if there is no checkpoint below output.uri: that of
// checkpoint.resumeFrom. Returns an empty string if the document does not set it or the job only infers. If the
// checkpoint cannot be read, the text contains only its URI; the trainers report the error.
std::string NamedStartText(const RunJob& job, const storage::StoreOpener& open) {
  const std::string& from = job.training.checkpoint.resume_from;
  const job::Training& training = job.training.training;
  const bool only_infers = training.epochs == 0 && !training.model.uri.empty();
  if (from.empty() || only_infers) return "";
  const Result<storage::StoreLocation> at = open(from);
  const Result<std::string> position = at.ok() ? DescribePosition(*at) : Result<std::string>(at.status());
  return (position.ok() ? *position + " of " : "") + from + " (checkpoint.resumeFrom)";
}

// Decides whether the run resumes or replaces an earlier one. Returns FailedPrecondition if there is an interrupted run
// and the user has chosen neither --resume nor --restart, or if the results are those of another job and the user has
// not chosen --restart. Results of the same job are replaced, so that the same command can be repeated.
Result<Beginning> DecideBeginning(const RunOptions& options, const RunJob& job, const RunFolder& folder,
                                  const JobStores& stores, terminal::Progress& progress) {
  const storage::StoreLocation& prefix = stores.prefix;
  ASSIGN_OR_RETURN(const RunState state, ReadRunState(folder.StateFile()));
  Beginning beginning;
  if (options.roles.has_program()) {  // a program manages its own checkpoints
    beginning.incarnation = state.attempts.incarnation + 1;
    beginning.reason = options.resume ? "resumed" : "started";
    return beginning;
  }
  ASSIGN_OR_RETURN(const EarlierRun earlier, FindEarlierRun(prefix).While("looking for an earlier run"));
  beginning.incarnation = std::max(state.attempts.incarnation, earlier.newest_incarnation) + 1;
  beginning.reason = options.resume ? "resumed" : "started";
  const bool is_other_job = !earlier.job_name.empty() && earlier.job_name != job.training.name;
  const Status other_job = FailedPrecondition(job.training.output_uri + " contains results of the job '" +
                                              earlier.job_name + "': choose another output for this job, '" +
                                              job.training.name + "', or replace them with --restart");
  if (options.resume) {
    if (is_other_job) return other_job;
    beginning.has_checkpoint = earlier.num_complete() > 0;
    const std::string named = beginning.has_checkpoint ? "" : NamedStartText(job, stores.open_for_messages);
    progress.Note("resuming from " + (named.empty() ? PositionText(earlier) : named));
    return beginning;
  }
  const bool unfinished = earlier.num_complete() > 0 && !earlier.outputs_committed;
  if (unfinished && !options.restart) {
    return FailedPrecondition(job.training.output_uri + " holds " + CheckpointsText(earlier) +
                              ", of an unfinished run: continue it with --resume, or start over with --restart, which "
                              "removes them");
  }
  if (is_other_job && !options.restart) return other_job;
  beginning.replaced = earlier;
  return beginning;
}

// Executes `work` on another thread. Polls the fleet meanwhile, which pings the hosts of `espalier launch`: work on a
// slow store may take longer than a host waits for a message. Returns the error of the work, otherwise that of the
// fleet.
Status RunWhileWatching(Fleet& fleet, const std::function<Status()>& work) {
  std::future<Status> done = std::async(std::launch::async, work);
  Status broken;
  while (done.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    const FleetEvents events = fleet.Poll();
    if (broken.ok()) broken = events.broken;
  }
  RETURN_IF_ERROR(done.get());
  return broken;
}

// Removes the results, checkpoints and logs of the earlier run, with --resume only the results. Called after all checks
// have passed and before job.json is written. Does not remove what a user's program has saved.
Status RemoveEarlierRun(const RunOptions& options, const RunJob& job, const RunFolder& folder, const JobStores& stores,
                        const EarlierRun& earlier, Fleet& fleet, terminal::Progress& progress) {
  const bool keep_logs = options.keep_logs || options.resume;
  if (options.roles.has_program()) return folder.RemoveResultOfProgram(keep_logs);
  if (options.resume) return folder.RemoveResults(keep_logs);
  if (earlier.num_complete() > 0) {
    progress.Note("removing the earlier run's " + CheckpointsText(earlier) + ": " + job.training.output_uri);
  }
  const auto remove = [&]() -> Status {
    RETURN_IF_ERROR(DeleteEarlierRun(stores.prefix, earlier));
    return folder.RemoveResults(keep_logs);
  };
  RETURN_IF_ERROR(RunWhileWatching(fleet, remove));
  const std::string named = NamedStartText(job, stores.open_for_messages);
  if (!named.empty()) progress.Note("resuming from " + named);
  return Status();
}

// Removes the result of a failed run: rank 0 may have committed outputs before another process failed, and only a
// successful run has a result.
void RemoveResult(const RunContext& context) {
  std::error_code ignored;
  const RunFolder& folder = context.folder;
  if (!context.options.roles.has_program()) std::filesystem::remove(folder.path() + "/manifest.json", ignored);
  std::filesystem::remove(folder.ResultFile(), ignored);
}

// Returns " FLAG SECONDS", or "" for the default.
std::string SecondsFlag(const char* flag, std::chrono::milliseconds time, std::chrono::milliseconds default_time) {
  if (time == default_time) return "";
  return std::string(" ") + flag + " " + FormatSignificant(static_cast<double>(time.count()) / 1000, 9);
}

// Returns the end of the message after a stop: the saved position and the command that resumes the run.
std::string DescribeResume(const RunOptions& options, const storage::StoreLocation& prefix) {
  const bool has_program = options.roles.has_program();
  const Result<EarlierRun> saved = has_program ? EarlierRun() : FindEarlierRun(prefix);
  if (!has_program && saved.ok() && saved->num_complete() == 0) return "\nnothing was saved: there is no checkpoint";
  std::string command = options.command;
  if (!options.job_file.empty()) command += " -f " + ShellWord(options.job_file);
  command += " --output " + ShellWord(options.output_folder);
  for (const std::string& setting : options.settings) command += " --set " + ShellWord(setting);
  if (options.tls) command += " --tls";
  if (options.roles.access != RoleOptions().access) command += " --access " + options.roles.access;
  command += SecondsFlag("--ready-seconds", options.ready_deadline, RunOptions().ready_deadline);
  command += SecondsFlag("--grace-seconds", options.stop_grace, RunOptions().stop_grace);
  if (has_program) {
    command += " --resume";
    if (options.roles.program_is_from_document) return "\nresume with: " + command;
    command += " --";
    for (const std::string& word : options.roles.program) command += " " + ShellWord(word);
    return "\nresume with: " + command;
  }
  const std::string position = saved.ok() ? PositionText(*saved) : UnknownPositionText(saved.status());
  return "\nsaved up to " + position + "; resume with: " + command + " --resume";
}

// Merges the audits of all trainers into `facts`. Returns a Stop if the trainers' samples differ or an audit is
// invalid.
std::optional<Stop> MergeAudit(const RunContext& context, RunFacts* facts, bool resumed) {
  if (!context.options.roles.audit) return std::nullopt;
  if (resumed || facts->trainer_restarts > 0) {
    context.progress.Note("no samplesDigest: samples before --resume or a restart of the trainers were not recorded");
    return std::nullopt;
  }
  std::vector<std::string> files;
  for (uint32_t rank = 0; rank < context.job.training.trainer_replicas; ++rank) {
    files.push_back(context.folder.AuditFile(ToString(ChildId{Role::kTrainer, rank})));
  }
  const Result<sampler::AuditSummary> merged = sampler::MergeAudits(files);
  // All trainers must sample the same neighbors for the same node; a difference is a bug.
  if (!merged.ok()) return Stop{ExitCode::kBug, "merging the audit: " + merged.status().message()};
  facts->samples_digest = merged->samples_digest;
  facts->num_expansions = merged->num_expansions;
  return std::nullopt;
}

// Publishes the outputs and completes result.json. Returns its content.
Result<std::string> PublishResults(const RunContext& context, const RunFacts& facts) {
  const RoleOptions& roles = context.options.roles;
  if (roles.has_program()) {
    ASSIGN_OR_RETURN(ProgramResult written, WriteProgramResult(context.folder, context.job, facts, roles.program));
    if (!written.note.empty()) context.progress.Note(written.note);
    return std::move(written.json);
  }
  RETURN_IF_ERROR(PublishOutputs(context.folder, context.prefix));
  return CompleteResult(context.folder, context.job, facts);
}

RunOutcome RunPlaced(const RunContext& context, const Beginning& beginning) {
  const Timer timer;
  RunInProgress run(context, beginning.incarnation, beginning.reason);
  std::optional<Stop> stop = run.Run();
  for (const std::string& name : run.StopChildren()) {
    context.progress.Note(name + " did not end after SIGTERM and was killed");
  }
  // Trainers that have finished their last step when the stop is requested still complete the outputs if that is quick.
  // Then the run has succeeded.
  if (stop.has_value() && stop->code == ExitCode::kAskedToStop && run.AllTrainersSucceeded()) stop.reset();
  if (stop.has_value()) {
    RemoveResult(context);
    const bool requested = stop->code == ExitCode::kAskedToStop;
    return Failed(stop->code,
                  stop->message + (requested ? DescribeResume(context.options, context.prefix_for_messages) : ""));
  }
  RunFacts facts = run.facts();
  facts.access = context.options.roles.access;
  facts.total_seconds = timer.Seconds();
  if (const auto failed = MergeAudit(context, &facts, context.options.resume)) {
    RemoveResult(context);
    return Failed(failed->code, failed->message);
  }
  const Result<std::string> result = PublishResults(context, facts);
  if (!result.ok()) {
    if (!context.options.roles.has_program()) RemoveResult(context);  // a program's own result is kept
    return Failed(result.status());
  }
  // A short run may end before its status was read, so its warnings are shown now.
  if (!context.options.roles.has_program()) run.ShowWarnings(*result);
  if (const Status written = run.WriteSucceeded(); !written.ok()) return Failed(written);
  RunOutcome outcome;
  outcome.result_json = *result;
  outcome.summary = SummaryLines(*result, context.folder, context.job.training.output_uri);
  return outcome;
}

// The user's document, and the options with the document's program filled in if the command line names none.
struct Request {
  RunOptions options;
  job::ParsedJob document;

  // Returns the document's script if this run reads it and puts it into the run's folder, otherwise null.
  const job::Script* script() const {
    if (!options.roles.program_is_from_document || !options.roles.script_folder.empty()) return nullptr;
    const std::optional<job::Script>& script = document.training.program->script;
    return script.has_value() ? &*script : nullptr;
  }
};

// Reads and checks the document. All errors are the user's (exit code 64).
Result<Request> ReadRequest(const RunOptions& given) {
  RunOptions options = given;
  ASSIGN_OR_RETURN(job::ParsedJob document,
                   ReadJobFile(options.job_file, options.settings, options.read_by, options.roles.spec_training()));
  if (!options.roles.has_program() && document.training.program.has_value()) {
    RETURN_IF_ERROR(CheckScriptPlace(*document.training.program));
    std::error_code error;
    const std::string output = std::filesystem::absolute(options.output_folder, error).lexically_normal();
    const std::string& given_folder = options.roles.script_folder;
    options.roles.program =
        document.training.program->Words(given_folder.empty() ? RunPaths(output).ScriptFolder() : given_folder);
    options.roles.program_is_from_document = true;
  }
  RETURN_IF_ERROR(CheckOptions(options, document.training));
  return Request{std::move(options), std::move(document)};
}

RunOutcome RunRequest(const Request& request, terminal::Progress& progress, const FleetMaker& make_fleet) {
  const RunOptions& options = request.options;
  telemetry::StopSignal::Install();
  const Result<RunFolder> folder = RunFolder::Open(options.output_folder);
  if (!folder.ok()) {
    const StatusCode code = folder.status().code();
    const bool is_users_error = code == StatusCode::kFailedPrecondition || code == StatusCode::kAborted;
    return Failed(is_users_error ? ExitCode::kBadDocument : ToExitCode(code), folder.status().message());
  }
  const Result<RunJob> job = PlaceJob(request.document, *folder);
  if (!job.ok()) return Failed(ExitCode::kBadDocument, job.status().message());
  for (const std::string& path : job->ignored) progress.Note("ignored: " + path);
  for (const std::string& warning : job::JobWarnings(job->training)) progress.Note("warning: " + warning);
  const Result<JobStores> stores = OpenStores(options, *job);
  if (!stores.ok()) return Failed(ExitCode::kBadDocument, stores.status().message());

  script::ScriptFile script;
  if (request.script() != nullptr) {
    Result<script::ScriptFile> read = ReadRunScript(*request.script(), job->training.s3, options.environment);
    if (!read.ok()) return Failed(read.status());
    script = *std::move(read);
    progress.Note("script " + request.script()->uri + ": SHA-256 " + script.sha256);
  }
  const Result<Beginning> beginning = DecideBeginning(options, *job, *folder, *stores, progress);
  if (!beginning.ok()) {
    const StatusCode code = beginning.status().code();
    const bool must_choose = code == StatusCode::kFailedPrecondition || code == StatusCode::kInvalidArgument;
    return Failed(must_choose ? ExitCode::kBadDocument : ToExitCode(code), beginning.status().message());
  }
  // A run that resumes from a checkpoint below output.uri does not need all files that the job started from. If a file
  // that it needs is missing, the trainers report it.
  if (!beginning->has_checkpoint && !options.roles.has_program()) {
    const start_files::SharedWithTrainers shared{.local_files = options.read_by == job::ReadBy::kRunOrRole,
                                                 .credentials = true};
    const auto error = start_files::FindStartFileError(job->training, shared, stores->open_for_messages);
    if (error.has_value()) return Failed(error->exit_code, error->status.message());
  }
  if (const Status cleared = folder->RemoveRunFiles(); !cleared.ok()) return Failed(cleared);
  if (request.script() != nullptr) {
    const Status put =
        script::PutScript(script, request.script()->uri, request.script()->entrypoint, folder->ScriptFolder());
    if (!put.ok()) return Failed(put);
  }
  std::unique_ptr<TlsFiles> tls;
  if (options.tls || job->training.tls == job::TlsMode::kManaged) {
    Result<std::unique_ptr<TlsFiles>> made = TlsFiles::Make(folder->TlsFolder());
    if (!made.ok()) return Failed(made.status());
    tls = *std::move(made);
  }
  const Result<std::unique_ptr<Fleet>> fleet = make_fleet({*folder, *job, tls.get()});
  if (!fleet.ok()) {
    return Failed(ToExitCodeOfPlace(fleet.status().code()), fleet.status().message());
  }
  const Status removed = RemoveEarlierRun(options, *job, *folder, *stores, beginning->replaced, **fleet, progress);
  if (!removed.ok()) return Failed(removed);
  const Status written = telemetry::WriteFileAtomically(folder->JobFile(), job->json);
  if (!written.ok()) return Failed(written);
  return RunPlaced({options, *folder, *job, stores->prefix, stores->prefix_for_messages, stores->probe,
                    stores->patience, progress, tls.get(), **fleet},
                   *beginning);
}

// Returns NotFound if there is no trainer. Installations without libtorch, such as the Python package, have none.
Status CheckTrainer(const std::string& program_folder) {
  const std::string trainer = program_folder + "/espalier-trainer";
  if (access(trainer.c_str(), X_OK) == 0) return Status();
  return NotFound(trainer +
                  ", which trains the model of a document, is missing: this installation can only run your own program "
                  "(espalier run ... -- PROGRAM, or spec.trainers.program). For the Python package, install the wheel "
                  "espalier-trainer (docs/python.md); otherwise build Espalier with its trainer, and use the espalier "
                  "of that build");
}

}  // namespace

RunOutcome Run(const RunOptions& given, terminal::Progress& progress) {
  Result<Request> request = ReadRequest(given);
  if (!request.ok()) return Failed(ExitCode::kBadDocument, request.status().message());
  const RunOptions& options = request->options;
  if (options.roles.has_program()) {
    std::string& program = request->options.roles.program.front();
    const Result<std::string> found = FindProgram(program, "", FindValue(options.environment, "PATH"));
    if (!found.ok()) return Failed(ExitCode::kBadDocument, found.status().message());
    program = *found;
  } else if (const Status trainer = CheckTrainer(options.roles.program_folder); !trainer.ok()) {
    return Failed(ExitCode::kBadDocument, trainer.message());
  }
  // Checked before an earlier run is removed.
  const Status plugins = CheckPluginFiles(request->document.training.server_plugins, "");
  if (!plugins.ok()) return Failed(ExitCode::kBadDocument, plugins.message());
  return RunRequest(*request, progress, [&](const FleetPlan& plan) -> Result<std::unique_ptr<Fleet>> {
    Site site{.paths = plan.folder, .program_folder = options.roles.program_folder};
    site.server_threads = ServerThreads(std::thread::hardware_concurrency(), NumberServers(plan.job.training).count());
    auto fleet = std::make_unique<LocalFleet>(telemetry::StopSignal::Install(), std::move(site));
    RETURN_IF_ERROR(fleet->ShareRows(job::SharedRowBytes(plan.job.training)));
    return std::unique_ptr<Fleet>(std::move(fleet));
  });
}

RunOutcome Run(const RunOptions& given, terminal::Progress& progress, const FleetMaker& make_fleet) {
  const Result<Request> request = ReadRequest(given);
  if (!request.ok()) return Failed(ExitCode::kBadDocument, request.status().message());
  return RunRequest(*request, progress, make_fleet);
}

}  // namespace espalier::run
