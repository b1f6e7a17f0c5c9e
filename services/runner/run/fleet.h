// The processes of one run, wherever they are: started, watched together and ended in order. Decides nothing
// (recovery_plan.h does). Those of `espalier run` are this machine's (local_fleet.h), those of `espalier launch` on
// hosts (launch/host_fleet.h).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/process/child_process.h"
#include "services/runner/run/role.h"
#include "services/runner/run/site.h"
#include "services/telemetry/process.h"

namespace espalier::run {

// Something that happened to a child.
struct ChildReady {
  ChildId child;
  telemetry::ReadyFile ready;
};
struct ChildEnded {
  ChildId child;
  process::ExitState exit;
};
struct FleetEvents {
  std::vector<ChildReady> ready;  // happened before `ended`: a child may be in both
  std::vector<ChildEnded> ended;
  Status broken;  // an error: no child that is started again will mend it (a machine is gone, a port is taken)
};

// Owned by one thread. Once destroyed, no child runs.
class Fleet {
 public:
  virtual ~Fleet() = default;

  virtual Site GetSite(ChildId child) const = 0;
  // Makes the partitioning at `uri`, as this machine names it, readable where the servers are. May take long; Cancelled
  // where a stop is requested meanwhile, DeadlineExceeded once the run's deadline has passed.
  virtual Status BringPartitions(const std::string& uri, std::optional<Deadline> deadline) = 0;

  // In place of an earlier process of the same child, which has ended. The ready file of the earlier one is removed.
  // Paths in `spec` are those of the child's site; its log, last words and output end up in this machine's folder too.
  virtual Status Start(ChildId child, const process::ChildSpec& spec, const std::string& ready_path) = 0;

  // What happened since the last call.
  virtual FleetEvents Poll() = 0;
  // Sleeps until something may have happened, a stop is requested, or `longest` has passed.
  virtual void WaitForEvent(std::chrono::milliseconds longest) = 0;
  // Nothing happens once it has ended. A stopped process is woken to see it.
  virtual void Signal(ChildId child, int signal_number) = 0;

  // For how long a child has been awaited, at most; nullopt when all that run are ready. Partitioners never are.
  struct Awaited {
    ChildId child;
    SteadyTime since;
    Status ready_error;  // what is wrong with its ready file, where there is one
  };
  virtual std::optional<Awaited> LongestAwaited() const = 0;
  virtual std::map<ChildId, pid_t> Pids() const = 0;  // of those that run
  virtual std::vector<ChildId> Running() = 0;         // looks anew
  // Of one that was started; nullopt while it runs.
  virtual std::optional<process::ExitState> ExitState(ChildId child) = 0;
  // What the child's admin port answers to /status, as JSON. Best effort, within half a second.
  virtual Result<std::string> FetchStatus(ChildId child) = 0;

  // Role after role: SIGTERM, `grace` for all of them to end, SIGKILL. Afterwards no child runs, or its machine cannot
  // be reached any more. The names of those that had to be killed.
  std::vector<std::string> StopAll(std::chrono::milliseconds grace);

 private:
  std::vector<ChildId> ListRunning(Role role);
  bool AwaitEnds(Role role, Deadline deadline);
};

}  // namespace espalier::run
