// The processes of one run, watched together: whoever ends when it should not ends the run.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "services/apps/run/child_process.h"
#include "services/base/clock.h"
#include "services/telemetry/process.h"

namespace espalier::run {

// In the order in which they are stopped: whoever asks before whoever answers.
enum class Role { kPartitioner, kTrainer, kSampler, kServer };
const char* NameOf(Role role);

// Why a wait ended.
enum class WaitEnd { kDone, kStopRequested, kChildFailed, kDeadline };

struct ChildFailure {
  std::string name;
  ExitState exit;
  std::string log_path;
  std::vector<std::string> last_lines;
};

// Owned by one thread.
class Fleet {
 public:
  // `stop` outlives this.
  explicit Fleet(const telemetry::StopSignal& stop) : stop_(stop) {}
  // What still runs is killed.
  ~Fleet() = default;

  Status Start(Role role, const ChildSpec& spec);

  // Until `ready_path` of the child `name` exists. It ending first is a failure, with exit code 0 too.
  WaitEnd WaitReady(const std::string& name, const std::string& ready_path, Deadline deadline,
                    telemetry::ReadyFile* ready);
  // Until every child of the role has ended with exit code 0. Another exit, or any other child ending at all, is a
  // failure. `on_tick` is called a few times a second.
  WaitEnd WaitFinished(Role role, std::optional<Deadline> deadline, const std::function<void()>& on_tick);

  // After kChildFailed: the child that most probably was the first to fail.
  const std::optional<ChildFailure>& failure() const { return failure_; }
  // Why WaitReady got no ready file although the child runs: a bad file.
  const Status& ready_error() const { return ready_error_; }

  // Role after role: SIGTERM, `grace` for all of them to end, SIGKILL. Afterwards no child runs. The names of those
  // that had to be killed.
  std::vector<std::string> StopAll(std::chrono::milliseconds grace);

 private:
  struct Member {
    Role role;
    ChildProcess process;
  };

  // Sleeps until a child ends, a stop is requested, or `longest` has passed.
  void WaitForEvent(std::chrono::milliseconds longest);
  bool FindFailure(std::optional<Role> may_finish);
  std::vector<const Member*> Failed(std::optional<Role> may_finish);
  void StopRole(Role role, std::chrono::milliseconds grace, std::vector<std::string>* killed);

  const telemetry::StopSignal& stop_;
  std::list<Member> members_;
  std::optional<ChildFailure> failure_;
  Status ready_error_;
};

}  // namespace espalier::run
