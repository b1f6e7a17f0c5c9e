// Launch connects to the hosts, copies the user's folders and script to them, and then calls run::Run with a HostFleet.
// The document is parsed first, so that no host is contacted if it is invalid. All sessions are opened before the first
// `hello` is awaited, so the connections are established in parallel.
#include "services/runner/launch/launch.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "services/base/host_port.h"
#include "services/runner/launch/partition_copy.h"
#include "services/runner/run/run_script.h"
#include "services/storage/files/scratch_folder.h"
#include "services/telemetry/process.h"

namespace espalier::launch {
namespace {

constexpr rlim_t kOwnDescriptors = 256;
constexpr rlim_t kDescriptorsPerHost = 4;  // three pipes and a pidfd of ssh

using Sessions = std::vector<std::unique_ptr<HostSession>>;

run::RunOutcome Failed(const Status& status) {
  run::RunOutcome outcome;
  outcome.code = ToExitCode(status.code());
  outcome.error = status.message();
  return outcome;
}

// Returns the outcome of an error of the document or the hosts, with exit code 64 where Failed has 65. Launch also uses
// it for an error of the folders to copy.
run::RunOutcome Refused(const Status& status) {
  run::RunOutcome outcome = Failed(status);
  if (outcome.code == ExitCode::kBadInput) outcome.code = ExitCode::kBadDocument;
  return outcome;
}

// Returns InvalidArgument if one of several hosts has a loopback address, at which the others cannot reach it.
Status CheckReachable(const Sessions& sessions) {
  for (const auto& session : sessions) {
    if (sessions.size() == 1 || !IsLoopback(session->address())) continue;
    return InvalidArgument("host " + session->host().name + " has the address " + session->address() +
                           ", which the other hosts cannot reach: write another address in the hosts file");
  }
  return Status();
}

std::vector<HostSession*> PointersTo(const Sessions& sessions) {
  std::vector<HostSession*> pointers;
  for (const auto& session : sessions) pointers.push_back(session.get());
  return pointers;
}

// Raises the limit of open files, as far as the hard limit allows, for this process and its children. If that is not
// enough, creating a pipe fails later with an error.
void AllowDescriptors(size_t hosts) {
  const rlim_t wanted = kOwnDescriptors + kDescriptorsPerHost * hosts;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

Result<Sessions> Connect(const ConnectOptions& options, terminal::Progress& progress) {
  ASSIGN_OR_RETURN(const std::vector<Host> hosts, ReadHostsFile(options.hosts_file));
  const telemetry::StopSignal& stop = telemetry::StopSignal::Install();
  progress.Begin("connecting to " + std::to_string(hosts.size()) + (hosts.size() == 1 ? " host" : " hosts"));
  const Deadline deadline = Deadline::After(options.patience);
  AllowDescriptors(hosts.size());
  Sessions sessions;
  for (const Host& host : hosts) {
    // Checked for each host, because resolving its name may take long.
    if (stop.requested()) return Cancelled("stopped while resolving " + host.name);
    if (deadline.HasPassed()) {
      return DeadlineExceeded("connecting to the hosts took longer than " + std::to_string(options.patience.count()) +
                              " s: " + host.name + " was not contacted");
    }
    ASSIGN_OR_RETURN(std::unique_ptr<HostSession> session, HostSession::Open(host, options.session));
    sessions.push_back(std::move(session));
  }
  RETURN_IF_ERROR(CheckReachable(sessions));
  Heartbeat heartbeat(PointersTo(sessions));
  for (const auto& session : sessions) RETURN_IF_ERROR(session->AwaitHello(stop, deadline, heartbeat));
  return sessions;
}

// A temporary folder on this machine, removed by the destructor.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> Make() {
    ASSIGN_OR_RETURN(const std::string scratch, storage::ScratchFolder());
    std::string path = scratch + "/espalier-script-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return FromErrno(errno, "making a folder in " + scratch);
    return TemporaryFolder(std::move(path));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Reads the document's script on this machine and copies it to the hosts' workspaces. Returns its folder, relative to
// the workspace.
Result<std::string> CopyScript(const job::DistTraining& job, const EnvironmentMap& environment, const CopyTarget& to) {
  const job::Script& script = *job.program->script;
  ASSIGN_OR_RETURN(const script::ScriptFile file, run::ReadRunScript(script, job.s3, environment));
  to.progress.Note("script " + script.uri + ": SHA-256 " + file.sha256);
  ASSIGN_OR_RETURN(const TemporaryFolder scratch, TemporaryFolder::Make());
  // The name depends on the content, so that a job never runs the script of another job.
  std::string name = "script-" + file.sha256.substr(0, 16);
  RETURN_IF_ERROR(script::PutScript(file, script.uri, script.entrypoint, scratch.path() + "/" + name));
  RETURN_IF_ERROR(CopyFolder(scratch.path() + "/" + name, to));
  return name;
}

// Adds the setting that overrides a count of the document with `per_host` times `hosts`; nothing if `per_host` is 0.
void SetCount(const char* field, uint32_t per_host, size_t hosts, std::vector<std::string>* settings) {
  if (per_host > 0) settings->push_back(std::string(field) + "=" + std::to_string(per_host * hosts));
}

}  // namespace

run::RunOutcome Launch(LaunchOptions options, terminal::Progress& progress) {
  const telemetry::StopSignal& stop = telemetry::StopSignal::Install();
  options.run.read_by = job::ReadBy::kLaunch;
  const Result<std::vector<Host>> hosts = ReadHostsFile(options.connect.hosts_file);
  if (!hosts.ok()) return Refused(hosts.status());
  SetCount("graph.partitions.count", options.servers_per_host, hosts->size(), &options.run.settings);
  SetCount("samplers.replicas", options.samplers_per_host, hosts->size(), &options.run.settings);
  SetCount("trainers.replicas", options.trainers_per_host, hosts->size(), &options.run.settings);
  // Parsed before the connections, so that no host is contacted if the document is invalid.
  const auto parsed = run::ReadJobFile(options.run.job_file, options.run.settings, options.run.read_by,
                                       options.run.roles.spec_training());
  if (!parsed.ok()) return Refused(parsed.status());
  const std::optional<job::Program>& program = parsed->training.program;
  const bool has_script = !options.run.roles.has_program() && program.has_value() && program->script.has_value();
  if (has_script) {
    const Status place = run::CheckScriptPlace(*program);
    if (!place.ok()) return Refused(place);
  }
  Result<Sessions> sessions = Connect(options.connect, progress);
  if (!sessions.ok()) return Refused(sessions.status());

  std::error_code error;
  const std::string output = std::filesystem::absolute(options.run.output_folder, error).lexically_normal();
  if (options.fleet.workspace.empty()) options.fleet.workspace = output;
  options.fleet.stop_grace = options.run.stop_grace;
  Heartbeat heartbeat(PointersTo(*sessions));
  const CopyTarget target{PointersTo(*sessions), options.fleet.workspace, stop, heartbeat, progress};
  for (const std::string& folder : options.folders) {
    const Status copied = CopyFolder(folder, target);
    if (!copied.ok()) return Refused(copied);
  }
  if (has_script) {
    Result<std::string> folder = CopyScript(parsed->training, options.run.environment, target);
    if (!folder.ok()) return Failed(folder.status());
    options.run.roles.script_folder = *std::move(folder);
  }
  return run::Run(options.run, progress, [&](const run::FleetPlan& plan) -> Result<std::unique_ptr<run::Fleet>> {
    run::Site here{.paths = plan.folder, .program_folder = options.run.roles.program_folder};
    auto fleet = std::make_unique<HostFleet>(*std::move(sessions), options.fleet, std::move(here), plan.folder,
                                             plan.job, progress);
    RETURN_IF_ERROR(fleet->Begin(plan.tls));
    return std::unique_ptr<run::Fleet>(std::move(fleet));
  });
}

run::RunOutcome Copy(const CopyOptions& options, terminal::Progress& progress) {
  const telemetry::StopSignal& stop = telemetry::StopSignal::Install();
  const Result<Sessions> sessions = Connect(options.connect, progress);
  if (!sessions.ok()) return Refused(sessions.status());
  Heartbeat heartbeat(PointersTo(*sessions));
  const CopyTarget target{PointersTo(*sessions), options.workspace, stop, heartbeat, progress};
  run::RunOutcome outcome;
  if (!options.partitions.empty()) {
    const Result<std::string> copied = CopyPartitions(options.partitions, options.replicas, target);
    if (!copied.ok()) return Failed(copied.status());
    outcome.summary.push_back("partitions: " + *copied);
  }
  for (const std::string& folder : options.folders) {
    const Status copied = CopyFolder(folder, target);
    if (!copied.ok()) return Failed(copied);
  }
  return outcome;
}

}  // namespace espalier::launch
