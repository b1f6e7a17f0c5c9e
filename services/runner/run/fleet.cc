#include "services/runner/run/fleet.h"

#include <signal.h>

#include <algorithm>

namespace espalier::run {
namespace {

using std::chrono::milliseconds;

// Time limit for a process to end after SIGKILL.
constexpr milliseconds kKillTimeout{30000};

}  // namespace

std::vector<ChildId> Fleet::ListRunning(Role role) {
  std::vector<ChildId> running = Running();
  std::erase_if(running, [role](ChildId child) { return child.role != role; });
  return running;
}

bool Fleet::AwaitEnds(Role role, Deadline deadline) {
  while (!ListRunning(role).empty()) {
    if (deadline.HasPassed()) return false;
    WaitForEvent(std::min<milliseconds>(std::chrono::ceil<milliseconds>(deadline.Remaining()), milliseconds(1000)));
  }
  return true;
}

std::vector<std::string> Fleet::StopAll(milliseconds grace) {
  std::vector<std::string> killed;
  for (const Role role : {Role::kPartitioner, Role::kTrainer, Role::kSampler, Role::kServer}) {
    for (const ChildId child : ListRunning(role)) Signal(child, SIGTERM);
    if (AwaitEnds(role, Deadline::After(grace))) continue;
    for (const ChildId child : ListRunning(role)) {
      killed.push_back(ToString(child));
      Signal(child, SIGKILL);
    }
    (void)AwaitEnds(role, Deadline::After(kKillTimeout));
  }
  return killed;
}

}  // namespace espalier::run
