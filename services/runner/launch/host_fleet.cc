// Requests to hosts are messages, and their effects arrive later as events: ProcessMessages reads the messages of all
// sessions and collects the events for Poll. Each start of a child gets a new number (`life`). The messages `ready`,
// `ended` and `failed` carry this number: a late `ready` or `ended` about an earlier process of the child is ignored.
// Each `failed` ends the run.
//
// A lost host is not replaced. The first error of a session becomes FleetEvents::broken, which ends the run. The end of
// children on a lost host is not awaited, because the host stops them on its own (host_agent.h).
#include "services/runner/launch/host_fleet.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <utility>

#include "services/base/file.h"
#include "services/base/host_port.h"
#include "services/base/parallel.h"
#include "services/base/sha256.h"
#include "services/job/places.h"
#include "services/runner/launch/partition_copy.h"
#include "services/runner/run/log_tail.h"
#include "services/storage/file_uri.h"
#include "services/telemetry/process.h"

namespace espalier::launch {
namespace {

using nlohmann::json;
using run::ChildId;
using run::Role;
using std::chrono::milliseconds;

// Longer than a host waits for the end of an earlier launch (kFolderTimeout in host_agent.cc).
constexpr std::chrono::seconds kBeginTimeout{90};
constexpr std::chrono::minutes kAccessTimeout{10};  // for a host that reads a large file from a slow disk
constexpr std::chrono::seconds kLeaveTimeout{30};   // for the agents to end after the grace period
constexpr size_t kMaxLineBytes = 16 << 10;          // of a log line that is displayed; the rest is cut off
constexpr size_t kMaxManifestBytes = 1 << 30;

std::string RandomToken() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 32; ++i) token += "0123456789abcdef"[device() % 16];
  return token;
}

}  // namespace

HostFleet::HostFleet(std::vector<std::unique_ptr<HostSession>> sessions, HostFleetOptions options,
                     run::Site this_machine, const run::RunFolder& folder, const run::RunJob& job,
                     terminal::Progress& progress)
    : sessions_(std::move(sessions)),
      silences_(sessions_.size()),
      rendezvous_ports_(sessions_.size()),
      options_(std::move(options)),
      folder_(folder),
      job_(job),
      progress_(progress),
      stop_(telemetry::StopSignal::Install()),
      local_(stop_, std::move(this_machine)) {}

HostFleet::~HostFleet() {
  const Deadline deadline = Deadline::After(options_.stop_grace + kLeaveTimeout);
  // Does not wait for hosts that are lost.
  for (const auto& session : sessions_)
    session->Close(session->is_over() ? Deadline::After(milliseconds(0)) : deadline);
}

std::vector<HostSession*> HostFleet::Hosts() const {
  std::vector<HostSession*> hosts;
  for (const auto& session : sessions_) hosts.push_back(session.get());
  return hosts;
}

Heartbeat HostFleet::MakeHeartbeat(std::optional<Deadline> deadline) const {
  return Heartbeat(Hosts(), PingInterval(), deadline);
}

std::vector<Role> HostFleet::RolesOn(size_t host) const {
  std::vector<Role> roles;
  if (CountServersOn(host) > 0) roles.push_back(Role::kServer);
  if (host < job_.training.sampler_replicas) roles.push_back(Role::kSampler);
  if (host < job_.training.trainer_replicas) roles.push_back(Role::kTrainer);
  return roles;
}

size_t HostFleet::FindHost(ChildId child) const {
  if (child.role != Role::kServer) return child.index % sessions_.size();
  const run::ServerNumbering servers = run::NumberServers(job_.training);
  return FindServerHost(servers.PartitionFor(child.index), servers.ReplicaFor(child.index), sessions_.size());
}

uint32_t HostFleet::CountServersOn(size_t host, uint32_t below) const {
  uint32_t servers = 0;
  for (uint32_t server = 0; server < below; ++server) servers += FindHost({Role::kServer, server}) == host ? 1 : 0;
  return servers;
}

Status HostFleet::Begin(const run::TlsFiles* tls) {
  const std::string token = RandomToken();
  RETURN_IF_ERROR(telemetry::WriteFileAtomically(folder_.path() + "/run/token", token));
  for (size_t host = 0; host < sessions_.size(); ++host) RETURN_IF_ERROR(BeginOn(host, tls, token));
  Heartbeat heartbeat = MakeHeartbeat();
  const Deadline deadline = Deadline::After(kBeginTimeout);
  for (size_t host = 0; host < sessions_.size(); ++host) {
    HostSession& session = *sessions_[host];
    ASSIGN_OR_RETURN(const Message begun, session.Await("begun", stop_, deadline, heartbeat));
    rendezvous_ports_[host] = static_cast<uint16_t>(begun.Number("rendezvousPort"));
    const bool writes_outputs = host == FindHost({Role::kTrainer, 0});
    if (!writes_outputs || begun.Flag("seesOutput") || !storage::IsLocalUri(job_.training.output_uri)) continue;
    return FailedPrecondition(
        session.host().name + ", where trainer 0 writes checkpoints and outputs, cannot access " + folder_.path() +
        ": use a shared folder (--output) or a bucket (spec.output.uri), or run this command on that host");
  }
  return Status();
}

Status HostFleet::BeginOn(size_t host, const run::TlsFiles* tls, const std::string& token) {
  HostSession& session = *sessions_[host];
  if (session.host().port != 0 && session.host().port + CountServersOn(host) > 65536) {
    return InvalidArgument("host " + session.host().name + ": " + std::to_string(CountServersOn(host)) +
                           " graph servers need as many ports from " + std::to_string(session.host().port) +
                           " on, but the last port is 65535: give the host a lower port in the hosts file");
  }
  for (const std::string& program : session.missing()) {
    if (program == "espalier-partitioner" && CountPartitionersOn(host) == 0) continue;
    return NotFound(session.host().name + " has no " + program + " in " + session.program_folder() +
                    ": install Espalier there, or name its folder with --bin");
  }
  json files = {{"job.json", job_.json}};
  if (tls != nullptr) {
    for (const Role role : RolesOn(host)) {
      ASSIGN_OR_RETURN(const auto of_role, tls->ReadFiles(role));
      for (const auto& [name, text] : of_role) files["run/tls/" + name] = text;
    }
  }
  return session.Send({{"do", "begin"},
                       {"folder", HostFolder(host)},
                       {"output", folder_.path()},
                       {"token", token},
                       {"address", session.address()},
                       {"graceSeconds", std::chrono::ceil<std::chrono::seconds>(options_.stop_grace).count()},
                       {"lostSeconds", options_.lost_after.count()},
                       {"sharedRowBytes", job::SharedRowBytes(job_.training)},
                       {"files", std::move(files)}});
}

bool HostFleet::RunsLocally(ChildId child) const {
  if (child.role != Role::kPartitioner) return false;
  const job::Graph& graph = job_.training.graph;
  const bool has_assignment = !graph.partitions.assignment_uri.empty();
  return child.index == 0 || storage::IsLocalUri(graph.source.uri) ||
         storage::IsLocalUri(job::PartitionsUri(job_.training)) ||
         (has_assignment && storage::IsLocalUri(graph.partitions.assignment_uri));
}

int HostFleet::CountPartitionersOn(size_t host) const {
  int partitioners = 0;
  for (uint32_t rank = 1; rank < job_.training.partitioner_replicas; ++rank) {
    const ChildId child{Role::kPartitioner, rank};
    partitioners += !RunsLocally(child) && FindHost(child) == host ? 1 : 0;
  }
  return partitioners;
}

run::Site HostFleet::GetSite(ChildId child) const {
  if (RunsLocally(child)) {
    run::Site here = local_.GetSite(child);
    // If partitioner 1 is on a host, partitioner 0 is the only one on this machine.
    if (!RunsLocally({Role::kPartitioner, 1})) here.partitioner_threads = AvailableProcessors();
    return here;
  }
  const size_t host = FindHost(child);
  const HostSession& session = *sessions_[host];
  run::Site site{.paths = run::RunPaths(HostFolder(host)), .program_folder = session.program_folder()};
  site.host = session.address();
  site.partitions_uri = partitions_uri_;
  site.working_folder = options_.workspace;
  if (child.role == Role::kPartitioner) {
    site.partitioner_threads = std::max(1, session.processors() / CountPartitionersOn(host));
  }
  site.server_threads = options_.server_threads;
  if (site.server_threads == 0) {
    site.server_threads = run::ServerThreads(static_cast<unsigned>(session.processors()), CountServersOn(host));
  }
  site.plaintext_to_others = job_.training.tls == job::TlsMode::kDisabled && !IsLoopback(session.address());
  if (child.role == Role::kTrainer) {
    site.local_rank = static_cast<uint32_t>(child.index / sessions_.size());
    site.rendezvous_port = rendezvous_ports_[host];
  }
  if (child.role == Role::kServer && session.host().port != 0) {
    site.port = static_cast<uint16_t>(session.host().port + CountServersOn(host, child.index));
  }
  return site;
}

Result<bool> HostFleet::CanReadFile(HostSession& session, const std::string& path, Heartbeat& heartbeat) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxManifestBytes));
  RETURN_IF_ERROR(session.Send(
      {{"do", "sees"}, {"path", path}, {"bytes", static_cast<int64_t>(text.size())}, {"sha256", Sha256Hex(text)}}));
  ASSIGN_OR_RETURN(const Message seen, session.Await("seen", stop_, Deadline::After(kAccessTimeout), heartbeat));
  return seen.Flag("there");
}

Status HostFleet::ProvidePartitions(const std::string& uri, std::optional<Deadline> deadline) {
  partitions_uri_ = uri;
  if (!storage::IsLocalUri(uri)) return Status();
  ASSIGN_OR_RETURN(const std::string folder, storage::ToLocalPath(uri));
  Heartbeat heartbeat = MakeHeartbeat(deadline);
  if (options_.copy_partitions) {
    // A host that already has this manifest is not skipped: an earlier copy may have given it other partitions than it
    // serves now.
    ASSIGN_OR_RETURN(partitions_uri_, CopyPartitions(folder, job_.training.server_replicas_per_partition,
                                                     {Hosts(), options_.workspace, stop_, heartbeat, progress_}));
    return Status();
  }
  for (size_t host = 0; host < sessions_.size() && CountServersOn(host) > 0; ++host) {
    ASSIGN_OR_RETURN(const bool can_read, CanReadFile(*sessions_[host], folder + "/manifest.json", heartbeat));
    if (can_read) continue;
    return FailedPrecondition(sessions_[host]->host().name + " cannot access the partitions, " + folder +
                              ": copy them with --copy or `espalier copy`, put them in a bucket " +
                              "(spec.graph.partitions.uri), or share the folder");
  }
  return Status();
}

Status HostFleet::Start(ChildId child, const process::ChildSpec& spec, const std::string& ready_path) {
  if (RunsLocally(child)) return local_.Start(child, spec, ready_path);
  const bool is_first_start = !members_.contains(child);
  Member& member = members_[child] =
      Member{.life = ++lives_, .started = Clock::Real().Now(), .is_ready = ready_path.empty(), .pid = 0, .exit = {}};
  json environment = options_.environment;
  for (const auto& [name, value] : spec.environment) environment[name] = value;
  const run::Site site = GetSite(child);
  const bool checks_port = child.role == Role::kServer && site.port != 0 && is_first_start;
  const std::string listen = checks_port ? ToString(HostPort{site.host, site.port}) : "";
  return sessions_[FindHost(child)]->Send({{"do", "start"},
                                           {"child", ToString(child)},
                                           {"life", member.life},
                                           {"program", spec.program},
                                           {"arguments", spec.arguments},
                                           {"environment", environment},
                                           {"workingFolder", spec.folder},
                                           {"hasReadyFile", !ready_path.empty()},
                                           {"listen", listen}});
}

run::FleetEvents HostFleet::Poll() {
  const Status processed = ProcessMessages();
  run::FleetEvents events = std::exchange(events_, {});
  if (events.broken.ok()) events.broken = processed;
  run::FleetEvents local = local_.Poll();
  std::move(local.ready.begin(), local.ready.end(), std::back_inserter(events.ready));
  std::move(local.ended.begin(), local.ended.end(), std::back_inserter(events.ended));
  return events;
}

// Reads the messages of all sessions, and pings the hosts if a ping is due. Returns the first error.
Status HostFleet::ProcessMessages() {
  const bool is_due = Clock::Real().Now() > pinged_at_ + PingInterval();
  if (is_due) pinged_at_ = Clock::Real().Now();
  Status first;
  const auto note = [&](const Status& status) {
    if (first.ok()) first = status;
  };
  for (size_t host = 0; host < sessions_.size(); ++host) {
    note(ReceiveFrom(host));
    if (is_due) note(sessions_[host]->Send({{"do", "ping"}}));
  }
  return first;
}

Status HostFleet::ReceiveFrom(size_t host) {
  HostSession& session = *sessions_[host];
  ASSIGN_OR_RETURN(const std::vector<Message> messages, session.Receive());
  Status first;
  for (const Message& message : messages) {
    const Status handled = HandleMessage(host, message);
    if (first.ok()) first = handled;
  }
  // The connection may be alive although the agent hangs, because sshd answers ssh's keepalives.
  if (silences_[host].Update(session.bytes_received()) < options_.lost_after) return first;
  return session.GiveUp(DeadlineExceeded("no message for " + std::to_string(options_.lost_after.count()) + " s"));
}

// Handles a message `failed`. If the failed request was a `start`, removes the child, because it was never started.
Status HostFleet::HandleFailure(size_t host, const Message& message) {
  const std::optional<ChildId> child = run::ParseChildId(message.Text("child"));
  const auto found = child.has_value() ? members_.find(*child) : members_.end();
  if (found != members_.end() && FindHost(*child) == host && found->second.life == message.Number("life")) {
    members_.erase(found);
  }
  return ParseFailure(*sessions_[host], message);
}

Status HostFleet::HandleMessage(size_t host, const Message& message) {
  const std::string type = message.Text("is");
  if (type == "failed") return HandleFailure(host, message);
  const std::optional<ChildId> child = run::ParseChildId(message.Text("child"));
  const auto found = child.has_value() ? members_.find(*child) : members_.end();
  if (found == members_.end() || FindHost(*child) != host) return Status();  // not about a child on this host
  Member& member = found->second;
  if (type == "log") return HandleLog(host, *child, message.body);
  if (type == "status" && *child == ChildId{Role::kTrainer, 0}) rank0_status_ = message.body;
  if (message.Number("life") != member.life) return Status();
  if (type == "ready") {
    member.is_ready = true;
    member.pid = static_cast<pid_t>(message.Number("pid"));
    events_.ready.push_back({*child,
                             {.address = message.Text("address"),
                              .admin_address = message.Text("admin"),
                              .rendezvous = message.Text("rendezvous"),
                              .pid = message.Number("pid")}});
  }
  if (type == "ended") return HandleEnd(*child, member, message);
  return Status();
}

Status HostFleet::HandleEnd(ChildId child, Member& member, const Message& message) {
  member.exit =
      process::ExitState{static_cast<int>(message.Number("code")), static_cast<int>(message.Number("signal"))};
  events_.ended.push_back({child, *member.exit});
  if (child == ChildId{Role::kTrainer, 0}) rank0_status_.clear();
  return telemetry::WriteFileAtomically(folder_.TerminationFile(ToString(child)), message.Text("lastWords"));
}

Status HostFleet::HandleLog(size_t host, ChildId child, const std::string& text) {
  const std::string path = folder_.LogFile(ToString(child));
  std::ofstream log(path, std::ios::binary | std::ios::app);
  log << text << std::flush;
  if (!log) return Unavailable("writing " + path + " failed");
  std::string& partial = partial_lines_[child];
  for (const char c : text) {
    if (c != '\n' && partial.size() < kMaxLineBytes) partial += c;
    if (c != '\n') continue;
    ShowLine(host, child, partial);
    partial.clear();
  }
  return Status();
}

void HostFleet::ShowLine(size_t host, ChildId child, const std::string& line) {
  const std::string text = run::ReadableLine(line);
  const bool is_warning = text.starts_with("WARN") || text.starts_with("ERROR");
  if (!is_warning && options_.log_lines != LogLines::kAll) return;
  progress_.Note("[" + sessions_[host]->host().name + " " + ToString(child) + "] " + text);
}

void HostFleet::WaitForEvent(milliseconds longest) {
  std::vector<int> descriptors;
  for (const auto& session : sessions_) {
    if (session->is_over()) continue;
    for (const int descriptor : session->descriptors()) descriptors.push_back(descriptor);
  }
  local_.Watch(std::move(descriptors));
  local_.WaitForEvent(std::min(longest, PingInterval()));
}

void HostFleet::Signal(ChildId child, int signal_number) {
  if (RunsLocally(child)) return local_.Signal(child, signal_number);
  const auto found = members_.find(child);
  if (found == members_.end() || found->second.exit.has_value()) return;
  // If the connection fails, the next Poll reports it.
  (void)sessions_[FindHost(child)]->Send(
      {{"do", "signal"}, {"child", ToString(child)}, {"life", found->second.life}, {"signal", signal_number}});
}

std::optional<run::Fleet::Awaited> HostFleet::LongestAwaited() const {
  std::optional<Awaited> longest = local_.LongestAwaited();
  for (const auto& [child, member] : members_) {
    if (member.is_ready || member.exit.has_value()) continue;
    if (!longest.has_value() || member.started < longest->since) longest = {child, member.started, Status()};
  }
  return longest;
}

std::map<ChildId, pid_t> HostFleet::Pids() const {
  std::map<ChildId, pid_t> pids = local_.Pids();
  for (const auto& [child, member] : members_) {
    if (!member.exit.has_value() && member.pid != 0) pids[child] = member.pid;
  }
  return pids;
}

std::vector<ChildId> HostFleet::Running() {
  const Status processed = ProcessMessages();
  if (events_.broken.ok()) events_.broken = processed;
  std::vector<ChildId> running = local_.Running();
  for (const auto& [child, member] : members_) {
    // A lost host ends its processes itself.
    if (!member.exit.has_value() && !sessions_[FindHost(child)]->is_over()) running.push_back(child);
  }
  return running;
}

std::optional<process::ExitState> HostFleet::ExitState(ChildId child) {
  const auto found = members_.find(child);
  return found == members_.end() ? local_.ExitState(child) : found->second.exit;
}

Result<std::string> HostFleet::FetchStatus(ChildId child) {
  if (child != ChildId{Role::kTrainer, 0} || rank0_status_.empty()) return NotFound("no status of " + ToString(child));
  return rank0_status_;
}

}  // namespace espalier::launch
