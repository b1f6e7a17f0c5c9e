// DIR/run/state.json: what a run must know after it was killed itself, and which processes it has, for people and
// tests. Written before an incarnation's trainers exist (write-ahead), so that no incarnation is used twice.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "services/base/status.h"
#include "services/runner/run/recovery_plan.h"

namespace espalier::run {

struct RunState {
  Attempts attempts;
  std::string reason;      // why the newest incarnation began: "started", "resumed", "trainer-1 was killed (signal 9)"
  bool succeeded = false;  // the outputs are committed
  std::map<ChildId, pid_t> processes;  // that run now

  friend bool operator==(const RunState&, const RunState&) = default;
};

// {"incarnation": 2, "attempts": {"total": 2, "counted": 1}, "reason": "...", "succeeded": false,
//  "processes": {"server-0": 4711, ...}}
std::string RunStateJson(const RunState& state);
Status WriteRunState(const std::string& path, const RunState& state);
// Without the processes, which are gone. A default one where there is no file; InvalidArgument for one that is none.
Result<RunState> ReadRunState(const std::string& path);

}  // namespace espalier::run
