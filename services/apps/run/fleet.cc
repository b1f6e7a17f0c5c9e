#include "services/apps/run/fleet.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>

#include "services/apps/run/log_tail.h"

namespace espalier::run {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReadyTick{10};
constexpr milliseconds kRunningTick{200};
// One child's end makes others fail within milliseconds. This long all failures are collected, so that the cause
// and not its first consequence is named.
constexpr milliseconds kConsequences{400};
constexpr size_t kLastLines = 15;

// The larger, the likelier it is the cause: crashes and bad input before complaints about peers that went away.
int Weight(const ExitState& exit) {
  if (exit.signal != 0) return 5;
  switch (exit.code) {
    case 64:
    case 65: return 4;
    case 77: return 3;
    case 74:
    case 75: return 1;
    case 0: return 2;  // a server that ended although it was not asked to
    default: return 4;
  }
}

}  // namespace

const char* NameOf(Role role) {
  switch (role) {
    case Role::kPartitioner: return "partitioner";
    case Role::kTrainer: return "trainer";
    case Role::kSampler: return "sampler";
    case Role::kServer: return "server";
  }
  return "";
}

Status Fleet::Start(Role role, const ChildSpec& spec) {
  ASSIGN_OR_RETURN(ChildProcess process, ChildProcess::Start(spec));
  members_.push_back({role, std::move(process)});
  return {};
}

void Fleet::WaitForEvent(milliseconds longest) {
  std::vector<pollfd> polled = {{stop_.requested() ? -1 : stop_.descriptor(), POLLIN, 0}};
  for (Member& member : members_) {
    if (!member.process.Poll().has_value()) polled.push_back({member.process.descriptor(), POLLIN, 0});
  }
  poll(polled.data(), polled.size(), static_cast<int>(longest.count()));
}

std::vector<const Fleet::Member*> Fleet::Failed(std::optional<Role> may_finish) {
  std::vector<const Member*> failed;
  for (Member& member : members_) {
    const std::optional<ExitState> exit = member.process.Poll();
    if (!exit.has_value() || (exit->ok() && (member.role == may_finish || member.role == Role::kPartitioner))) continue;
    failed.push_back(&member);
  }
  return failed;
}

bool Fleet::FindFailure(std::optional<Role> may_finish) {
  if (Failed(may_finish).empty()) return false;
  const Deadline settled = Deadline::After(kConsequences);
  while (!settled.HasPassed() && !stop_.requested()) {
    WaitForEvent(std::chrono::ceil<milliseconds>(settled.Remaining()));
  }
  const std::vector<const Member*> failed = Failed(may_finish);
  const auto exit_of = [](const Member* member) { return *const_cast<Member*>(member)->process.Poll(); };
  const Member* cause = *std::max_element(failed.begin(), failed.end(), [&](const Member* a, const Member* b) {
    return Weight(exit_of(a)) < Weight(exit_of(b));
  });
  failure_ = ChildFailure{cause->process.name(), exit_of(cause), cause->process.log_path(),
                          LastLines(cause->process.log_path(), kLastLines)};
  return true;
}

WaitEnd Fleet::WaitReady(const std::string& name, const std::string& ready_path, Deadline deadline,
                         telemetry::ReadyFile* ready) {
  while (true) {
    if (stop_.requested()) return WaitEnd::kStopRequested;
    Result<telemetry::ReadyFile> read = telemetry::ReadReadyFile(ready_path);
    if (read.ok()) {
      *ready = *std::move(read);
      return WaitEnd::kDone;
    }
    if (read.status().code() != StatusCode::kNotFound) ready_error_ = read.status().While("waiting for " + name);
    if (FindFailure(std::nullopt)) return WaitEnd::kChildFailed;
    if (deadline.HasPassed()) return WaitEnd::kDeadline;
    WaitForEvent(kReadyTick);
  }
}

WaitEnd Fleet::WaitFinished(Role role, std::optional<Deadline> deadline, const std::function<void()>& on_tick) {
  while (true) {
    if (stop_.requested()) return WaitEnd::kStopRequested;
    if (FindFailure(role)) return WaitEnd::kChildFailed;
    const bool all_done = std::all_of(members_.begin(), members_.end(), [&](Member& member) {
      if (member.role != role) return true;
      // Only a good end counts here: a bad one is FindFailure's to name, at the next turn.
      const std::optional<ExitState> end = member.process.Poll();
      return end.has_value() && end->ok();
    });
    if (all_done) return WaitEnd::kDone;
    if (deadline.has_value() && deadline->HasPassed()) return WaitEnd::kDeadline;
    on_tick();
    WaitForEvent(kRunningTick);
  }
}

void Fleet::StopRole(Role role, milliseconds grace, std::vector<std::string>* killed) {
  std::vector<Member*> running;
  for (Member& member : members_) {
    if (member.role == role && !member.process.Poll().has_value()) running.push_back(&member);
  }
  for (Member* member : running) {
    member->process.Signal(SIGTERM);
    member->process.Signal(SIGCONT);  // a stopped process would not see it
  }
  const auto forget_ended = [&] { std::erase_if(running, [](Member* m) { return m->process.Poll().has_value(); }); };
  for (const Deadline deadline = Deadline::After(grace); !deadline.HasPassed(); forget_ended()) {
    forget_ended();
    if (running.empty()) return;
    WaitForEvent(std::chrono::ceil<milliseconds>(deadline.Remaining()));
  }
  for (Member* member : running) {
    killed->push_back(member->process.name());
    member->process.Signal(SIGKILL);
  }
}

std::vector<std::string> Fleet::StopAll(milliseconds grace) {
  std::vector<std::string> killed;
  for (const Role role : {Role::kPartitioner, Role::kTrainer, Role::kSampler, Role::kServer}) {
    StopRole(role, grace, &killed);
  }
  members_.clear();  // reaps
  return killed;
}

}  // namespace espalier::run
