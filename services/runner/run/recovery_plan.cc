// Next() derives the actions from the states of all children, in a fixed order: give up on bad input, succeed, give up
// on stores, restart services (here all processes except trainers), start absent roles in their order, advance the
// trainer group, give up after a failure. It can be called at any time and any number of times; wake_at_ is the
// earliest time at which a timer changes its result.
//
// A failed trainer group passes through: failure (group_failed_at_) -> after `settle_time`, SIGTERM to the
// trainers that still run (group_signaled_at_) -> after `trainer_grace`, SIGKILL -> all have ended: DecideGroup names
// the cause and either schedules the next group (group_due_) or sets failed_since_. Once failed_since_ is set, nothing
// is started any more, and the plan gives up when `settle_time` has passed since the failure.
#include "services/runner/run/recovery_plan.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "services/base/failure_policy.h"

namespace espalier::run {
namespace {

using std::chrono::milliseconds;

FailureRule RuleFor(const process::ExitState& exit) { return RuleForEnd(exit.code, exit.signal); }

bool IsCounted(const process::ExitState& exit) { return RuleFor(exit).retry != Retry::kNotCounted; }

}  // namespace

RecoveryPlan::RecoveryPlan(const PlanOptions& options) : options_(options) {
  for (uint32_t i = 0; i < options.partitioners; ++i) children_[{Role::kPartitioner, i}];
  for (uint32_t i = 0; i < options.servers; ++i) children_[{Role::kServer, i}];
  for (uint32_t i = 0; i < options.samplers; ++i) children_[{Role::kSampler, i}];
  for (uint32_t i = 0; i < options.trainers; ++i) children_[{Role::kTrainer, i}];
}

void RecoveryPlan::OnReady(ChildId id, SteadyTime now) {
  Child& child = children_.at(id);
  child.life = Life::kReady;
  child.was_ready = true;
  child.ready_at = now;
}

void RecoveryPlan::OnEnded(ChildId id, process::ExitState exit, SteadyTime now) {
  Child& child = children_.at(id);
  if (child.life == Life::kReady && now - child.ready_at >= options_.healthy_after) child.deaths_in_a_row = 0;
  child.life = Life::kEnded;
  child.exit = exit;
  child.ended_at = now;
}

void RecoveryPlan::OnStores(Stores stores, SteadyTime now) {
  if (stores == Stores::kReachable) {
    suspected_store_failure_.reset();
    stores_unreachable_since_.reset();
    next_probe_at_.reset();
    return WakeBy(now);
  }
  if (!stores_unreachable_since_.has_value()) stores_unreachable_since_ = now;
  stores_timed_out_ = now >= *stores_unreachable_since_ + options_.store_patience;
  next_probe_at_ = now + options_.probe_interval;
  WakeBy(stores_timed_out_ ? now : *next_probe_at_);
}

std::vector<Action> RecoveryPlan::Next(SteadyTime now) {
  actions_.clear();
  wake_at_.reset();
  if (over_ || GiveUpOnBadInput()) return actions_;
  if (TrainersSucceeded()) {
    over_ = true;
    actions_.push_back(action::Succeed{});
    return actions_;
  }
  if (GiveUpOnStores()) return actions_;
  ReplaceServices(now);
  StartAbsent(Role::kPartitioner);
  if (IsDone(Role::kPartitioner)) StartAbsent(Role::kServer);
  if (IsDone(Role::kServer)) StartAbsent(Role::kSampler);
  if (IsDone(Role::kServer) && IsDone(Role::kSampler)) AdvanceTrainers(now);
  GiveUpWhenSettled(now);
  return actions_;
}

std::vector<ChildId> RecoveryPlan::Awaited() const {
  std::vector<ChildId> awaited;
  for (const auto& [id, child] : children_) {
    if (child.life == Life::kStarting && id.role != Role::kPartitioner) awaited.push_back(id);
  }
  return awaited;
}

bool RecoveryPlan::IsDone(Role role) const {
  return std::all_of(children_.begin(), children_.end(), [&](const auto& entry) {
    const auto& [id, child] = entry;
    if (id.role != role) return true;
    return role == Role::kPartitioner ? child.life == Life::kEnded && child.exit.ok() : child.was_ready;
  });
}

// Committing the outputs is the last step of rank 0 before it exits with 0.
bool RecoveryPlan::OutputsAreCommitted() const {
  if (options_.trainer_kind == TrainerKind::kProgram) return false;  // other ranks may still run
  const Child& first = children_.at({Role::kTrainer, 0});
  return first.life == Life::kEnded && first.exit.ok() && first.was_ready;
}

bool RecoveryPlan::HasFailed(ChildId id, const Child& child) const {
  if (child.life != Life::kEnded) return false;
  switch (id.role) {
    case Role::kPartitioner: return !child.exit.ok();
    case Role::kServer:
    case Role::kSampler: return true;
    case Role::kTrainer: break;
  }
  if (child.exit.ok()) return !child.was_ready;
  if (OutputsAreCommitted() && child.is_signaled) return false;  // a straggler that was ended
  // If the outputs are complete, a trainer that is killed or stopped during its shutdown has not failed.
  const ExitCode code = child.exit.ToExitCode();
  return !(OutputsAreCommitted() && (code == ExitCode::kUnavailable || code == ExitCode::kAskedToStop));
}

bool RecoveryPlan::TrainersSucceeded() const {
  const bool may_be_done = OutputsAreCommitted() || options_.trainer_kind == TrainerKind::kProgram;
  return may_be_done && std::all_of(children_.begin(), children_.end(), [&](const auto& entry) {
           const auto& [id, child] = entry;
           return id.role != Role::kTrainer || (child.life == Life::kEnded && !HasFailed(id, child));
         });
}

std::vector<ChildId> RecoveryPlan::RunningTrainers() const {
  std::vector<ChildId> running;
  for (const auto& [id, child] : children_) {
    const bool runs = child.life == Life::kStarting || child.life == Life::kReady;
    if (id.role == Role::kTrainer && runs) running.push_back(id);
  }
  return running;
}

void RecoveryPlan::StartOne(ChildId id) {
  Child& child = children_.at(id);
  const bool reports_ready = id.role != Role::kTrainer || options_.trainer_kind == TrainerKind::kEspalier;
  child.life = reports_ready ? Life::kStarting : Life::kReady;
  child.was_ready = child.was_ready || !reports_ready;
  child.due.reset();
  actions_.push_back(action::Start{id});
}

void RecoveryPlan::StartAbsent(Role role) {
  if (failed_since_.has_value()) return;
  for (const auto& [id, child] : children_) {
    if (id.role == role && child.life == Life::kAbsent) StartOne(id);
  }
}

void RecoveryPlan::ReplaceServices(SteadyTime now) {
  if (failed_since_.has_value()) return;
  for (auto& [id, child] : children_) {
    if (id.role == Role::kTrainer || !HasFailed(id, child)) continue;
    if (!child.due.has_value()) RecoverService(id, child);
    if (!child.due.has_value()) continue;
    if (now < *child.due) {
      WakeBy(*child.due);
    } else if (MayRestart(now)) {
      StartOne(id);
    }
  }
}

// Schedules the restart of a failed service, or gives up if it has died too often and is not redundant.
void RecoveryPlan::RecoverService(ChildId id, Child& child) {
  bool counted = IsCounted(child.exit);
  milliseconds delay = DelayAfter(child.deaths_in_a_row + (counted ? 1 : 0));
  if (counted && ++child.deaths_in_a_row > options_.backoff_limit) {
    if (!IsRedundant(id)) {
      failed_since_ = child.ended_at;
      return;
    }
    child.deaths_in_a_row = options_.backoff_limit;
    delay = options_.longest_delay;
    counted = false;
  }
  child.due = child.ended_at + delay;
  RequireStoreProbe({id, child.exit});
  actions_.push_back(action::Recovering{{id, child.exit}, counted, child.deaths_in_a_row, options_.backoff_limit});
}

// Returns whether the run can continue without this server: it is not the first server of its partition, so it holds no
// mutable tensors, and another server of the partition is ready. The server must have been ready once, because the
// start of the samplers and trainers waits for all servers.
bool RecoveryPlan::IsRedundant(ChildId id) const {
  if (id.role != Role::kServer || options_.partitions == 0 || id.index < options_.partitions) return false;
  if (!children_.at(id).was_ready) return false;
  return std::any_of(children_.begin(), children_.end(), [&](const auto& entry) {
    const auto& [other, child] = entry;
    return other.role == Role::kServer && other.index % options_.partitions == id.index % options_.partitions &&
           child.life == Life::kReady;
  });
}

// Advances the trainer group: starts it, ends it after a failure, or ends stragglers.
void RecoveryPlan::AdvanceTrainers(SteadyTime now) {
  for (const auto& [id, child] : children_) {
    if (id.role != Role::kTrainer || !HasFailed(id, child)) continue;
    if (!group_failed_at_.has_value() || child.ended_at < *group_failed_at_) group_failed_at_ = child.ended_at;
  }
  if (group_failed_at_.has_value()) return EndGroup(now);
  if (failed_since_.has_value()) return;
  if (group_due_.has_value() && now < *group_due_) return WakeBy(*group_due_);
  const Child& first = children_.at({Role::kTrainer, 0});
  if (first.life == Life::kAbsent) {
    if (MayRestart(now)) BeginGroup(now);
    return;
  }
  // Rank 0 starts first, because it publishes the rendezvous address.
  if (first.was_ready) StartAbsent(Role::kTrainer);
  if (OutputsAreCommitted()) EndStragglers(now);
}

void RecoveryPlan::BeginGroup(SteadyTime now) {
  group_due_.reset();
  group_began_at_ = now;
  attempts_.incarnation = attempts_.total == 0 ? options_.first_incarnation : attempts_.incarnation + 1;
  ++attempts_.total;
  actions_.push_back(action::BeginIncarnation{attempts_});
  if (options_.trainer_kind == TrainerKind::kProgram) return StartAbsent(Role::kTrainer);
  StartOne({Role::kTrainer, 0});
}

// A trainer of the group has failed. The others usually notice within milliseconds and end by themselves; those that do
// not are signaled.
void RecoveryPlan::EndGroup(SteadyTime now) {
  if (RunningTrainers().empty()) return DecideGroup(now);
  if (!group_signaled_at_.has_value()) {
    if (now < *group_failed_at_ + options_.settle_time) return WakeBy(*group_failed_at_ + options_.settle_time);
    group_signaled_at_ = now;
    SignalTrainers(SIGTERM);
  }
  if (group_killed_) return;
  if (now < *group_signaled_at_ + options_.trainer_grace) return WakeBy(*group_signaled_at_ + options_.trainer_grace);
  group_killed_ = true;
  SignalTrainers(SIGKILL);
}

// Rank 0 has committed the outputs and ended. After `trainer_grace`, kills the trainers that still run.
void RecoveryPlan::EndStragglers(SteadyTime now) {
  if (group_killed_) return;
  const SteadyTime end = children_.at({Role::kTrainer, 0}).ended_at + options_.trainer_grace;
  if (now < end) return WakeBy(end);
  group_killed_ = true;
  SignalTrainers(SIGKILL);
}

void RecoveryPlan::SignalTrainers(int signal_number) {
  for (const ChildId id : RunningTrainers()) {
    children_.at(id).is_signaled = true;
    actions_.push_back(action::Signal{id, signal_number});
  }
}

// All trainers of a failed group have ended: schedules the next group or gives up.
void RecoveryPlan::DecideGroup(SteadyTime now) {
  if (failed_since_.has_value()) return;
  const Failure cause = FindCause([](ChildId id) { return id.role == Role::kTrainer; });
  bool counted = IsCounted(cause.exit);
  if (counted) {
    stopped_soon_ = false;
  } else {
    counted = StopsTooOften(*group_failed_at_);
  }
  if (counted && ++attempts_.counted > options_.backoff_limit) {
    failed_since_ = group_failed_at_;
    return;
  }
  for (auto& [id, child] : children_) {
    if (id.role == Role::kTrainer) child = Child();
  }
  group_failed_at_.reset();
  group_signaled_at_.reset();
  group_killed_ = false;
  group_due_ = now + DelayAfter(attempts_.counted);
  WakeBy(*group_due_);
  RequireStoreProbe(cause);
  actions_.push_back(action::Recovering{cause, counted, attempts_.counted, options_.backoff_limit});
}

// Called when a group ended with exit code 75. Returns whether it is a group of a program, and this group and the one
// before both ended with 75 soon after their start. Then the stop probably did not come from outside, and without
// counting it the restarts would never end.
bool RecoveryPlan::StopsTooOften(SteadyTime ended_at) {
  if (options_.trainer_kind == TrainerKind::kEspalier) return false;  // trainers exit with 75 only after a signal
  const bool was_soon = std::exchange(stopped_soon_, ended_at - group_began_at_ < options_.healthy_after);
  return was_soon && stopped_soon_;
}

// Requires a probe of the stores before the next restart if the failure may be due to a store.
void RecoveryPlan::RequireStoreProbe(const Failure& failure) {
  if (RuleFor(failure.exit).rank == CauseRank::kPeer && !suspected_store_failure_.has_value())
    suspected_store_failure_ = failure;
}

// Returns whether processes may be restarted now: not before a required probe has succeeded. Requests a probe if one is
// due.
bool RecoveryPlan::MayRestart(SteadyTime now) {
  if (!suspected_store_failure_.has_value()) return true;
  const SteadyTime probe_at = next_probe_at_.value_or(now);
  if (now < probe_at) {
    WakeBy(probe_at);
    return false;
  }
  next_probe_at_ = now + options_.probe_interval;  // one probe for all pending restarts
  actions_.push_back(action::ProbeStores{});
  return false;
}

bool RecoveryPlan::GiveUpOnStores() {
  if (!stores_timed_out_ || failed_since_.has_value()) return false;
  over_ = true;
  actions_.push_back(action::GiveUpOnStores{*suspected_store_failure_});
  return true;
}

bool RecoveryPlan::GiveUpOnBadInput() {
  for (const auto& [id, child] : children_) {
    if (!HasFailed(id, child) || RuleFor(child.exit).retry != Retry::kNever) continue;
    // A program that is being ended may fail because its peers' tensors are gone. A real input error will occur again.
    if (child.is_signaled && options_.trainer_kind == TrainerKind::kProgram) continue;
    over_ = true;
    actions_.push_back(action::GiveUp{{id, child.exit}});
    return true;
  }
  return false;
}

void RecoveryPlan::GiveUpWhenSettled(SteadyTime now) {
  if (!failed_since_.has_value()) return;
  const SteadyTime settled = *failed_since_ + options_.settle_time;
  if (now < settled) return WakeBy(settled);
  over_ = true;
  actions_.push_back(action::GiveUp{FindCause([](ChildId) { return true; })});
}

Failure RecoveryPlan::FindCause(const std::function<bool(ChildId)>& includes) const {
  Failure cause;
  CauseRank highest = CauseRank::kNone;
  for (const auto& [id, child] : children_) {
    if (!includes(id) || child.is_signaled || !HasFailed(id, child)) continue;
    const CauseRank rank = RuleFor(child.exit).rank;
    if (rank <= highest) continue;
    highest = rank;
    cause = {id, child.exit};
  }
  return cause;
}

milliseconds RecoveryPlan::DelayAfter(int64_t failures) const {
  return DelayAfterFailures(failures, options_.first_delay, options_.longest_delay);
}

void RecoveryPlan::WakeBy(SteadyTime time) {
  if (!wake_at_.has_value() || time < *wake_at_) wake_at_ = time;
}

}  // namespace espalier::run
