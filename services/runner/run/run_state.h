// DIR/run/state.json: the persistent state of a run. A later run in the same folder reads it; the list of processes is
// for users and tests. The file is written before the trainers of an incarnation start (write-ahead), so that no
// incarnation is used twice.
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
  bool succeeded = false;  // the run has succeeded, and its outputs are published
  std::map<ChildId, pid_t> processes;  // running processes

  friend bool operator==(const RunState&, const RunState&) = default;
};

// Returns the state as a JSON document:
// {"incarnation": 2, "attempts": {"total": 2, "counted": 1}, "reason": "...", "succeeded": false,
//  "processes": {"server-0": 4711, ...}}
std::string RunStateJson(const RunState& state);
Status WriteRunState(const std::string& path, const RunState& state);
// Reads the incarnation and `succeeded`. Returns a default state if the file does not exist, and InvalidArgument if it
// is invalid.
Result<RunState> ReadRunState(const std::string& path);

}  // namespace espalier::run
