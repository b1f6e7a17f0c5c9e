#include "services/apps/run/fleet.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace espalier::run {

using std::chrono::milliseconds;

Status Fleet::Start(ChildId child, const ChildSpec& spec, const std::string& ready_path) {
  members_.erase(child);
  if (!ready_path.empty() && unlink(ready_path.c_str()) != 0 && errno != ENOENT) {
    return FromErrno(errno, "removing " + ready_path);
  }
  ASSIGN_OR_RETURN(ChildProcess process, ChildProcess::Start(spec));
  members_.emplace(child, Member{.process = std::move(process),
                                 .ready_path = ready_path,
                                 .started = Clock::Real().Now(),
                                 .is_ready = ready_path.empty(),
                                 .end_reported = false,
                                 .ready_error = {}});
  return Status();
}

void Fleet::PollReady(ChildId child, Member& member, FleetEvents* events) {
  if (member.is_ready) return;
  Result<telemetry::ReadyFile> ready = telemetry::ReadReadyFile(member.ready_path);
  if (ready.ok()) {
    member.is_ready = true;
    events->ready.push_back({child, *std::move(ready)});
  } else if (ready.status().code() != StatusCode::kNotFound) {
    member.ready_error = ready.status();
  }
}

FleetEvents Fleet::Poll() {
  FleetEvents events;
  for (auto& [child, member] : members_) {
    if (member.end_reported) continue;
    // The end first, the ready file after it: what a child wrote before it ended is seen.
    const std::optional<ExitState> exit = member.process.Poll();
    PollReady(child, member, &events);
    if (!exit.has_value()) continue;
    member.end_reported = true;
    events.ended.push_back({child, *exit});
  }
  return events;
}

void Fleet::WaitForEvent(milliseconds longest) {
  std::vector<pollfd> polled = {{stop_.requested() ? -1 : stop_.descriptor(), POLLIN, 0}};
  for (auto& [child, member] : members_) {
    if (!member.process.Poll().has_value()) polled.push_back({member.process.descriptor(), POLLIN, 0});
  }
  poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(longest.count(), 0)));
}

void Fleet::Signal(ChildId child, int signal_number) {
  const auto found = members_.find(child);
  if (found == members_.end()) return;
  found->second.process.Signal(SIGCONT);
  found->second.process.Signal(signal_number);
}

std::optional<Fleet::Awaited> Fleet::LongestAwaited() const {
  std::optional<Awaited> longest;
  for (const auto& [child, member] : members_) {
    if (member.is_ready || member.end_reported) continue;
    if (!longest.has_value() || member.started < longest->since) longest = {child, member.started, member.ready_error};
  }
  return longest;
}

std::map<ChildId, pid_t> Fleet::Pids() const {
  std::map<ChildId, pid_t> pids;
  for (const auto& [child, member] : members_) {
    if (!member.end_reported) pids[child] = member.process.pid();
  }
  return pids;
}

std::optional<ExitState> Fleet::ExitOf(ChildId child) {
  const auto found = members_.find(child);
  return found == members_.end() ? std::nullopt : found->second.process.Poll();
}

void Fleet::StopRole(Role role, milliseconds grace, std::vector<std::string>* killed) {
  std::vector<ChildProcess*> running;
  for (auto& [child, member] : members_) {
    if (child.role == role && !member.process.Poll().has_value()) running.push_back(&member.process);
  }
  for (ChildProcess* process : running) {
    process->Signal(SIGCONT);  // first: a SIGCONT in its end would take away the stops that LeakSanitizer waits for
    process->Signal(SIGTERM);
  }
  const auto forget_ended = [&] { std::erase_if(running, [](ChildProcess* p) { return p->Poll().has_value(); }); };
  for (const Deadline deadline = Deadline::After(grace); !deadline.HasPassed(); forget_ended()) {
    forget_ended();
    if (running.empty()) return;
    WaitForEvent(std::chrono::ceil<milliseconds>(deadline.Remaining()));
  }
  for (ChildProcess* process : running) {
    killed->push_back(process->name());
    process->Signal(SIGKILL);
    process->WaitUntilEnded();
  }
}

std::vector<std::string> Fleet::StopAll(milliseconds grace) {
  std::vector<std::string> killed;
  for (const Role role : {Role::kPartitioner, Role::kTrainer, Role::kSampler, Role::kServer}) {
    StopRole(role, grace, &killed);
  }
  return killed;
}

}  // namespace espalier::run
