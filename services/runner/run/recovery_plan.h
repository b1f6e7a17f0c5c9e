// Decides what a run does next: which processes to start and restart, and when to give up. The plan is a deterministic
// state machine: it reads no clock and no file and starts no process. RunInProgress (run_in_progress.h) executes its
// actions and reports events to it.
//
//   partitioners -> servers -> samplers -> trainer 0 -> other trainers -> all trainers are done
//
// - A partitioner, server or sampler is restarted alone, a server or sampler at the same address; its peers wait for
//   it. A partitioner that exited with 0 is done. A server that was ready once, and is not the first of its partition
//   (server_numbering.h), is restarted without limit while another server of the partition is ready.
// - Trainers are one group. When a trainer dies, all trainers are ended, and a new incarnation of the group starts from
//   the newest checkpoint. When trainer 0 has exited with 0, the outputs are committed: a trainer that is killed or
//   stopped afterwards has not failed. A user's program instead of trainers (TrainerKind) starts on all ranks at once
//   and must exit with 0 on all of them.
// - Exit codes 64 and 65 of any process end the run, because the same input would lead to the same error. The
//   exception is a user's program to which this plan has sent a signal.
// - Exit code 75 is a stop from outside and not counted as a failure. A program may also exit with it to be retried
//   later (EX_TEMPFAIL). Therefore, if groups of a program repeatedly end with 75 soon after their start, all such ends
//   but the first are counted.
// - base/failure_policy.h, which the operator uses too, decides which of several failures is the cause, and which
//   failures are counted.
// - After exit code 74, the job's stores are probed before anything is restarted. While a store is unreachable, nothing
//   is restarted; if it stays unreachable, the run ends.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "services/base/clock.h"
#include "services/process/child_process.h"
#include "services/runner/run/role.h"

namespace espalier::run {

// The kind of process that runs on the ranks.
enum class TrainerKind {
  kEspalier,  // rank 0 publishes the rendezvous address, and commits the outputs before it exits with 0
  kProgram,   // a user's program: all ranks start at once, none writes a ready file, and all must exit with 0
};

struct PlanOptions {
  uint32_t partitioners = 1, servers = 1, samplers = 0, trainers = 1;
  // Servers whose numbers are equal modulo `partitions` serve the same partition; 0: every server has its own
  // partition.
  uint32_t partitions = 0;
  TrainerKind trainer_kind = TrainerKind::kEspalier;
  uint64_t first_incarnation = 1;
  // The run gives up when the trainers have more counted failures than this in total, or when another process dies more
  // often than this in a row.
  int64_t backoff_limit = 3;
  // The end of one process makes others fail within milliseconds. Failures are collected for this time before the cause
  // is chosen among them.
  std::chrono::milliseconds settle_time{400};
  // From SIGTERM to SIGKILL when one trainer has failed. With kEspalier, trainers that still run this long after
  // trainer 0 has exited with 0 are killed too.
  std::chrono::milliseconds trainer_grace{5000};
  std::chrono::milliseconds first_delay{200}, longest_delay{10000};  // before a restart; doubles each time
  // After a process was ready for this long, its deaths in a row are counted from 0 again. A program that ran for this
  // long did not end with 75 "soon after its start".
  std::chrono::milliseconds healthy_after{600000};
  std::chrono::milliseconds store_patience{6000};  // from the first failed probe to giving up
  std::chrono::milliseconds probe_interval{1000};  // between two probes of the stores
};

// Counters that are persisted before each incarnation starts (run_state.h).
struct Attempts {
  uint64_t incarnation = 0;
  int64_t total = 0;    // trainer groups that this run has started
  int64_t counted = 0;  // failures of trainer groups that count against the backoff limit
  friend bool operator==(const Attempts&, const Attempts&) = default;
};

// The most likely cause of a failure: the process and how it ended.
struct Failure {
  ChildId child;
  process::ExitState exit;
};

namespace action {
struct Start {
  ChildId child;
  friend bool operator==(const Start&, const Start&) = default;
};
// Precedes the Start actions of the incarnation's trainers. The attempts must be on disk before a trainer starts.
struct BeginIncarnation {
  Attempts attempts;
  friend bool operator==(const BeginIncarnation&, const BeginIncarnation&) = default;
};
struct Signal {
  ChildId child;
  int signal_number = 0;
  friend bool operator==(const Signal&, const Signal&) = default;
};
// Informs the user that a process ended and will be restarted; a trainer is restarted with its whole group.
struct Recovering {
  Failure failure;
  bool counted = true;
  int64_t attempt = 0;  // counted failures so far: all of the trainers, or those in a row of another process
  int64_t limit = 0;
};
// Probe the job's stores. The caller must report the result with OnStores before it calls Next() again.
struct ProbeStores {};
struct Succeed {};
struct GiveUp {
  Failure failure;
};
// The run gives up because a store stays unreachable. `failure` is the one after which a restart was pending.
struct GiveUpOnStores {
  Failure failure;
};
}  // namespace action
using Action = std::variant<action::Start, action::BeginIncarnation, action::Signal, action::Recovering,
                            action::ProbeStores, action::Succeed, action::GiveUp, action::GiveUpOnStores>;

// Not thread-safe. The caller reports events, then executes the actions of Next() in order.
class RecoveryPlan {
 public:
  explicit RecoveryPlan(const PlanOptions& options);

  void OnReady(ChildId child, SteadyTime now);  // the child wrote its ready file; not called for partitioners
  void OnEnded(ChildId child, process::ExitState exit, SteadyTime now);
  enum class Stores { kReachable, kUnreachable };
  void OnStores(Stores stores, SteadyTime now);  // the result of ProbeStores

  // Returns the actions to execute now. Each action is returned once, and a Start is assumed to be executed. Returns
  // nothing after Succeed, GiveUp or GiveUpOnStores.
  std::vector<Action> Next(SteadyTime now);
  // Returns the time at which the caller must call Next again even without an event; nullopt: only after an event.
  std::optional<SteadyTime> WakeAt() const { return wake_at_; }

  // Returns the running children that are not ready yet, without partitioners.
  std::vector<ChildId> Awaited() const;
  const Attempts& attempts() const { return attempts_; }

 private:
  enum class Life { kAbsent, kStarting, kReady, kEnded };
  struct Child {
    Life life = Life::kAbsent;
    bool was_ready = false;  // in any of its lives; its address is known
    process::ExitState exit;
    SteadyTime ready_at, ended_at;
    int64_t deaths_in_a_row = 0;
    std::optional<SteadyTime> due;  // when an ended child is restarted
    bool is_signaled = false;       // by this plan
  };

  bool IsDone(Role role) const;  // returns whether the next role may start
  bool HasFailed(ChildId id, const Child& child) const;
  bool OutputsAreCommitted() const;
  bool TrainersSucceeded() const;
  std::vector<ChildId> RunningTrainers() const;

  void StartAbsent(Role role);
  void StartOne(ChildId id);
  void ReplaceServices(SteadyTime now);
  void RecoverService(ChildId id, Child& child);
  bool IsRedundant(ChildId id) const;
  void AdvanceTrainers(SteadyTime now);
  void BeginGroup(SteadyTime now);
  void EndGroup(SteadyTime now);
  void DecideGroup(SteadyTime now);
  bool StopsTooOften(SteadyTime ended_at);
  void EndStragglers(SteadyTime now);
  void SignalTrainers(int signal_number);

  void RequireStoreProbe(const Failure& failure);
  bool MayRestart(SteadyTime now);
  bool GiveUpOnBadInput();
  bool GiveUpOnStores();
  void GiveUpWhenSettled(SteadyTime now);
  // Considers the failed children for which `includes` returns true, and returns the failure that is most likely the
  // cause (the first of several equally likely ones).
  Failure FindCause(const std::function<bool(ChildId)>& includes) const;
  std::chrono::milliseconds DelayAfter(int64_t failures) const;
  void WakeBy(SteadyTime time);

  const PlanOptions options_;
  std::map<ChildId, Child> children_;
  Attempts attempts_;
  SteadyTime group_began_at_;
  bool stopped_soon_ = false;  // the program's previous group ended with 75 soon after its start
  std::optional<SteadyTime> group_failed_at_, group_signaled_at_;  // set while the group is ending
  std::optional<SteadyTime> group_due_;                            // when the next group starts
  bool group_killed_ = false;
  // The failure that a store may have caused; nullopt once a probe has reached all stores.
  std::optional<Failure> suspected_store_failure_;
  std::optional<SteadyTime> stores_unreachable_since_, next_probe_at_;
  bool stores_timed_out_ = false;
  std::optional<SteadyTime> failed_since_;  // when a limit was exceeded; the plan gives up `settle_time` later
  bool over_ = false;
  std::vector<Action> actions_;
  std::optional<SteadyTime> wake_at_;
};

}  // namespace espalier::run
