// The processes of one run: started, watched together and ended in order. Decides nothing (recovery_plan.h does).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/apps/run/child_process.h"
#include "services/apps/run/role.h"
#include "services/base/clock.h"
#include "services/telemetry/process.h"

namespace espalier::run {

// Something that happened to a child.
struct ChildReady {
  ChildId child;
  telemetry::ReadyFile ready;
};
struct ChildEnded {
  ChildId child;
  ExitState exit;
};
struct FleetEvents {
  std::vector<ChildReady> ready;  // happened before `ended`: a child may be in both
  std::vector<ChildEnded> ended;
};

// Owned by one thread.
class Fleet {
 public:
  // `stop` outlives this.
  explicit Fleet(const telemetry::StopSignal& stop) : stop_(stop) {}
  // What still runs is killed.
  ~Fleet() = default;

  // In place of an earlier process of the same child, which has ended. The ready file of the earlier one is removed.
  Status Start(ChildId child, const ChildSpec& spec, const std::string& ready_path);

  // What happened since the last call.
  FleetEvents Poll();
  // Sleeps until a child ends, a stop is requested, or `longest` has passed.
  void WaitForEvent(std::chrono::milliseconds longest);
  // Nothing happens once it has ended. A stopped process is woken to see it.
  void Signal(ChildId child, int signal_number);

  // For how long a child has been awaited, at most; nullopt when all that run are ready. Partitioners never are.
  struct Awaited {
    ChildId child;
    SteadyTime since;
    Status ready_error;  // what is wrong with its ready file, where there is one
  };
  std::optional<Awaited> LongestAwaited() const;
  std::map<ChildId, pid_t> Pids() const;  // of those that run

  // Role after role: SIGTERM, `grace` for all of them to end, SIGKILL. Afterwards no child runs. The names of those
  // that had to be killed.
  std::vector<std::string> StopAll(std::chrono::milliseconds grace);
  // Of a child that was started; nullopt while it runs.
  std::optional<ExitState> ExitOf(ChildId child);

 private:
  struct Member {
    ChildProcess process;
    std::string ready_path;
    SteadyTime started;
    bool is_ready = false;
    bool end_reported = false;
    Status ready_error;
  };

  void PollReady(ChildId child, Member& member, FleetEvents* events);
  void StopRole(Role role, std::chrono::milliseconds grace, std::vector<std::string>* killed);

  const telemetry::StopSignal& stop_;
  std::map<ChildId, Member> members_;
};

}  // namespace espalier::run
