// Children are watched by polling: Poll looks at every child's exit state and ready file. WaitForEvent blocks in poll()
// on a descriptor per child, which reports the end of a process at once. A new ready file does not end this wait, so
// the caller keeps `longest` short while a child is not ready.
#include "services/runner/run/local_fleet.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "services/runner/run/admin_status.h"

namespace espalier::run {

using std::chrono::milliseconds;

Status LocalFleet::ShareRows(uint64_t bytes) {
  shared_rows_.Close();
  if (bytes == 0) return Status();
  ASSIGN_OR_RETURN(shared_rows_, SharedMemory::Create(bytes));
  return Status();
}

Status LocalFleet::Start(ChildId child, const process::ChildSpec& spec, const std::string& ready_path) {
  members_.erase(child);
  if (!ready_path.empty() && unlink(ready_path.c_str()) != 0 && errno != ENOENT) {
    return FromErrno(errno, "removing " + ready_path);
  }
  process::ChildSpec with_memory = spec;
  if (child.role == Role::kTrainer && shared_rows_.is_open()) {
    with_memory.inherited = shared_rows_.get();
    with_memory.environment["ESPALIER_SHARED_ROW_MEMORY"] = std::to_string(shared_rows_.get());
  }
  ASSIGN_OR_RETURN(process::ChildProcess process, process::ChildProcess::Start(with_memory));
  members_.emplace(child, Member{.process = std::move(process),
                                 .ready_path = ready_path,
                                 .started = Clock::Real().Now(),
                                 .is_ready = ready_path.empty(),
                                 .end_reported = false,
                                 .ready_error = {},
                                 .admin_address = {}});
  return Status();
}

void LocalFleet::PollReady(ChildId child, Member& member, FleetEvents* events) {
  if (member.is_ready) return;
  Result<telemetry::ReadyFile> ready = telemetry::ReadReadyFile(member.ready_path);
  if (ready.ok()) {
    member.is_ready = true;
    member.admin_address = ready->admin_address;
    events->ready.push_back({child, *std::move(ready)});
  } else if (ready.status().code() != StatusCode::kNotFound) {
    member.ready_error = ready.status();
  }
}

FleetEvents LocalFleet::Poll() {
  FleetEvents events;
  for (auto& [child, member] : members_) {
    if (member.end_reported) continue;
    // The exit state is read before the ready file, so that a file that the child wrote before it ended is not missed.
    const std::optional<process::ExitState> exit = member.process.Poll();
    PollReady(child, member, &events);
    if (!exit.has_value()) continue;
    member.end_reported = true;
    events.ended.push_back({child, *exit});
  }
  return events;
}

void LocalFleet::WaitForEvent(milliseconds longest) {
  std::vector<pollfd> polled = {{stop_.requested() ? -1 : stop_.descriptor(), POLLIN, 0}};
  for (const int descriptor : watched_) polled.push_back({descriptor, POLLIN, 0});
  for (auto& [child, member] : members_) {
    if (!member.process.Poll().has_value()) polled.push_back({member.process.descriptor(), POLLIN, 0});
  }
  poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(longest.count(), 0)));
}

void LocalFleet::Signal(ChildId child, int signal_number) {
  const auto found = members_.find(child);
  if (found == members_.end()) return;
  found->second.process.Signal(SIGCONT);
  found->second.process.Signal(signal_number);
}

std::optional<Fleet::Awaited> LocalFleet::LongestAwaited() const {
  std::optional<Awaited> longest;
  for (const auto& [child, member] : members_) {
    if (member.is_ready || member.end_reported) continue;
    if (!longest.has_value() || member.started < longest->since) longest = {child, member.started, member.ready_error};
  }
  return longest;
}

std::map<ChildId, pid_t> LocalFleet::Pids() const {
  std::map<ChildId, pid_t> pids;
  for (const auto& [child, member] : members_) {
    if (!member.end_reported) pids[child] = member.process.pid();
  }
  return pids;
}

std::optional<process::ExitState> LocalFleet::ExitState(ChildId child) {
  const auto found = members_.find(child);
  return found == members_.end() ? std::nullopt : found->second.process.Poll();
}

std::vector<ChildId> LocalFleet::Running() {
  std::vector<ChildId> running;
  for (auto& [child, member] : members_) {
    if (!member.process.Poll().has_value()) running.push_back(child);
  }
  return running;
}

Result<std::string> LocalFleet::FetchStatus(ChildId child) {
  const auto found = members_.find(child);
  if (found == members_.end() || found->second.admin_address.empty()) {
    return NotFound(ToString(child) + " has not reported the address of its admin port yet");
  }
  return FetchStatusAt(found->second.admin_address);
}

unsigned ServerThreads(unsigned processors, uint32_t num_servers) {
  return std::max(2u, processors / std::max(1u, num_servers));
}

}  // namespace espalier::run
