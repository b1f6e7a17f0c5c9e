// Interface to the processes of one run: starts, watches and ends them. The recovery plan (recovery_plan.h) decides
// what to start and end. LocalFleet (local_fleet.h) has all processes on this machine, for `espalier run`; HostFleet
// (launch/host_fleet.h) has all but some partitioners on the hosts of `espalier launch`.
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

// A child wrote its ready file.
struct ChildReady {
  ChildId child;
  telemetry::ReadyFile ready;
};
// A child ended.
struct ChildEnded {
  ChildId child;
  process::ExitState exit;
};
struct FleetEvents {
  std::vector<ChildReady> ready;
  std::vector<ChildEnded> ended;  // a child that is also in `ready` became ready before it ended
  Status broken;                  // an error that no restart of a child resolves: a machine is lost, a port is in use
};

// Not thread-safe. The destructor ends all children.
class Fleet {
 public:
  virtual ~Fleet() = default;

  // Returns the machine of the child, with the paths and addresses that its command line needs.
  virtual Site GetSite(ChildId child) const = 0;
  // Makes the graph servers read the partitioning at `uri`. A path in `uri` is one of this machine: a fleet that copies
  // partitions copies them from there to the servers' machines, and the call blocks until this is done; without a copy,
  // FailedPrecondition if one of these machines cannot read the path. Cancelled if a stop is requested;
  // DeadlineExceeded after the run's deadline.
  virtual Status ProvidePartitions(const std::string& uri, std::optional<Deadline> deadline) = 0;

  // Starts the child. An earlier process of the same child must have ended; its ready file at `ready_path` is removed.
  // An empty `ready_path` means that the child writes no ready file and counts as ready at once. Paths in `spec` are
  // those of the child's site. If that is another machine, the child's log and termination message are also copied to
  // the run's folder on this machine.
  virtual Status Start(ChildId child, const process::ChildSpec& spec, const std::string& ready_path) = 0;

  // Returns the events since the last call. Does not block.
  virtual FleetEvents Poll() = 0;
  // Blocks until a child may have ended, a stop is requested, or `longest` has passed. A new ready file might not end
  // the wait.
  virtual void WaitForEvent(std::chrono::milliseconds longest) = 0;
  // Sends a signal to the child's process group, after SIGCONT so that a stopped process receives it. No effect after
  // the child has ended.
  virtual void Signal(ChildId child, int signal_number) = 0;

  // A running child that is not ready yet.
  struct Awaited {
    ChildId child;
    SteadyTime since;
    Status ready_error;  // why its ready file cannot be read; OK if it does not exist yet
  };
  // Returns the child that has been waited for the longest; nullopt if all running children are ready. Children without
  // a ready path are never returned.
  virtual std::optional<Awaited> LongestAwaited() const = 0;
  // Returns the process IDs of the running children. A child on another machine is missing until its ready file has
  // reported its ID.
  virtual std::map<ChildId, pid_t> Pids() const = 0;
  virtual std::vector<ChildId> Running() = 0;  // polls the processes; does not consume events
  // Returns how the child's last process ended; nullopt while it runs, or if it was never started.
  virtual std::optional<process::ExitState> ExitState(ChildId child) = 0;
  // Returns the JSON that the child's admin port serves at /status. Best effort: LocalFleet waits for a response for at
  // most half a second; HostFleet has only the latest status of trainer 0.
  virtual Result<std::string> FetchStatus(ChildId child) = 0;

  // Ends all children, role by role (see Role): SIGTERM to all of a role, then SIGKILL to those that still run after
  // `grace`. Returns the names of those that were killed. After the call no child runs, except on unreachable machines.
  std::vector<std::string> StopAll(std::chrono::milliseconds grace);

 private:
  std::vector<ChildId> ListRunning(Role role);
  bool AwaitEnds(Role role, Deadline deadline);
};

}  // namespace espalier::run
