// What to do next in a run, as a pure function of what has happened: who is started when, who is started again, and
// when to give up. No clock, no process, no file: whoever carries the actions out (supervisor.h) reports back.
//
//   partitioners -> servers -> samplers -> trainer 0 -> other trainers -> all trainers ended with 0
//
// A user's program in the place of trainers (TrainerKind) starts on all ranks at once. An end with 75 is a stop from
// outside and not counted; but a program may mean "try later" by it (EX_TEMPFAIL), so that of such ends in a row, each
// soon after its start, the first alone is free.
//
// Servers and samplers are replaced one by one, at the same address: trainers wait for them. A replica of a partition's
// first server that has served once is tried again for ever, while another server of the partition serves. Partitioners
// are replaced one by one, too, and their peers wait; one that has ended with 0 is done. Trainers are one group: when
// one dies, all end and a new incarnation of the group starts from the last checkpoint. 64 and 65 from anybody end the
// run, because the same input gives the same answer. After a 74 the job's stores are looked at first: while one is out
// of reach nobody is started again, who would only fail once more; and where it stays so, the run ends.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "services/base/clock.h"
#include "services/process/child_process.h"
#include "services/runner/run/role.h"

namespace espalier::run {

// What the trainers of a run are.
enum class TrainerKind {
  kEspalier,  // rank 0 says where the others meet, commits the outputs, and ends last of all
  kProgram,   // a user's: all start at once, nobody says that he is ready, and all must end with 0
};

struct PlanOptions {
  uint32_t partitioners = 1, servers = 1, samplers = 0, trainers = 1;
  // Servers whose numbers differ by a multiple of it serve the same partition; 0: each serves another.
  uint32_t partitions = 0;
  TrainerKind trainer_kind = TrainerKind::kEspalier;
  uint64_t first_incarnation = 1;
  // Counted failures of the trainers that are recovered from, in all; and deaths in a row of each other process.
  int64_t backoff_limit = 3;
  // One process's end makes others fail within milliseconds. This long failures are collected, so that the cause and
  // not its first consequence is named.
  std::chrono::milliseconds consequences{400};
  std::chrono::milliseconds trainer_grace{5000};  // from SIGTERM to SIGKILL when the group ends because of one
  std::chrono::milliseconds first_delay{200}, longest_delay{10000};  // before a process is started again; doubles
  // A server that served so long has its failures forgiven; a program that ran so long did not end with 75 "soon".
  std::chrono::milliseconds healthy{600000};
  std::chrono::milliseconds store_patience{6000};  // with stores out of reach, from the first look that found them so
  std::chrono::milliseconds between_looks{1000};
};

// Written ahead of each incarnation (run_state.h).
struct Attempts {
  uint64_t incarnation = 0;
  int64_t total = 0;    // groups of trainers started by this run
  int64_t counted = 0;  // failures among them that count against the limit
  friend bool operator==(const Attempts&, const Attempts&) = default;
};

// The likeliest cause of a failure.
struct Failure {
  ChildId child;
  process::ExitState exit;
};

namespace action {
struct Start {
  ChildId child;
  friend bool operator==(const Start&, const Start&) = default;
};
// Before the Starts of its trainers: to be on disk before they exist.
struct BeginIncarnation {
  Attempts attempts;
  friend bool operator==(const BeginIncarnation&, const BeginIncarnation&) = default;
};
struct Signal {
  ChildId child;
  int signal_number = 0;
  friend bool operator==(const Signal&, const Signal&) = default;
};
// For people: `child` ended and will be started again, with its whole group where it is a trainer.
struct Recovering {
  Failure failure;
  bool counted = true;
  int64_t attempt = 0;  // of `limit`
  int64_t limit = 0;
};
// Are the job's stores within reach? OnStores tells, before the next Next().
struct LookAtStores {};
struct Succeed {};
struct GiveUp {
  Failure failure;
};
// Stores stay out of reach of whoever would have to be started again after this failure.
struct GiveUpOnStores {
  Failure failure;
};
}  // namespace action
using Action = std::variant<action::Start, action::BeginIncarnation, action::Signal, action::Recovering,
                            action::LookAtStores, action::Succeed, action::GiveUp, action::GiveUpOnStores>;

// Owned by one thread. Report what happened, then carry out Next() in order.
class RecoveryPlan {
 public:
  explicit RecoveryPlan(const PlanOptions& options);

  void OnReady(ChildId child, SteadyTime now);  // it serves; for partitioners, never
  void OnEnded(ChildId child, process::ExitState exit, SteadyTime now);
  enum class Stores { kWithinReach, kOutOfReach };
  void OnStores(Stores stores, SteadyTime now);  // the answer to LookAtStores

  // Each action is returned once; a Start counts as done. Nothing after Succeed, GiveUp or GiveUpOnStores.
  std::vector<Action> Next(SteadyTime now);
  // When Next may have something to do although nothing happens until then.
  std::optional<SteadyTime> WakeAt() const { return wake_at_; }

  // Those that were started, are not ready yet, and run: whose readiness is awaited.
  std::vector<ChildId> Awaited() const;
  const Attempts& attempts() const { return attempts_; }

 private:
  enum class Life { kAbsent, kStarting, kReady, kEnded };
  struct Child {
    Life life = Life::kAbsent;
    bool was_ready = false;  // since the beginning; its address is known
    process::ExitState exit;
    SteadyTime ready_at, ended_at;
    int64_t deaths_in_a_row = 0;
    std::optional<SteadyTime> due;  // ended: when it is started again
    bool asked_to_end = false;      // by this plan
  };

  bool IsDone(Role role) const;  // whoever comes next may start
  bool HasFailed(ChildId id, const Child& child) const;
  bool OutputsAreCommitted() const;
  bool TrainersSucceeded() const;
  std::vector<ChildId> RunningTrainers() const;

  void StartAbsent(Role role);
  void StartOne(ChildId id);
  void ReplaceServices(SteadyTime now);
  void RecoverService(ChildId id, Child& child);
  bool IsSpare(ChildId id) const;
  void LeadTrainers(SteadyTime now);
  void BeginGroup(SteadyTime now);
  void EndGroup(SteadyTime now);
  void DecideGroup(SteadyTime now);
  bool StopsTooOften(SteadyTime ended_at);
  void EndStragglers(SteadyTime now);
  void SignalTrainers(int signal_number);

  void DoubtStores(const Failure& failure);
  bool MayStartAgain(SteadyTime now);
  bool GiveUpOnBadInput();
  bool GiveUpOnStores();
  void GiveUpWhenSettled(SteadyTime now);
  Failure Cause() const;
  std::chrono::milliseconds DelayAfter(int64_t failures) const;
  void WakeBy(SteadyTime time);

  const PlanOptions options_;
  std::map<ChildId, Child> children_;
  Attempts attempts_;
  SteadyTime group_began_at_;
  bool stopped_soon_ = false;                                   // the program's latest group, with 75
  std::optional<SteadyTime> group_failed_at_, group_asked_at_;  // while the group ends
  std::optional<SteadyTime> group_due_;                         // between two groups
  bool group_killed_ = false;
  std::optional<Failure> store_doubt_;  // the failure that may be the stores'; nullopt once they were within reach
  std::optional<SteadyTime> stores_away_since_, next_look_at_;
  bool stores_given_up_ = false;
  std::optional<SteadyTime> hopeless_since_;  // a limit is reached: give up once the cause is known
  bool over_ = false;
  std::vector<Action> actions_;
  std::optional<SteadyTime> wake_at_;
};

}  // namespace espalier::run
