// Compares the stored status with the planned one and adds an event for each relevant difference. Events are recorded
// after the status is written, so each change is reported at most once.

#include "operator/plan/changes.h"

#include <string_view>

#include "operator/plan/acceptance.h"
#include "operator/plan/partition_stage.h"
#include "operator/plan/suspension.h"

namespace espalier::ctl::plan {
namespace {

using api::Condition;
using api::ConditionStatus;
using runtime::EventType;

struct Change {
  const Condition* before;  // null: not present
  const Condition* after;
};

Change FindChange(const PlanBuilder& builder, const char* type) {
  return {api::FindCondition(builder.training().status, type), api::FindCondition(builder.status(), type)};
}

bool BecameTrue(const Change& change) {
  return change.after != nullptr && change.after->status == ConditionStatus::kTrue &&
         (change.before == nullptr || change.before->status != ConditionStatus::kTrue);
}

bool HasNewReason(const Change& change) {
  return change.after != nullptr && (change.before == nullptr || change.before->status != change.after->status ||
                                     change.before->reason != change.after->reason);
}

void NoteTrue(PlanBuilder& builder, const char* type, EventType event, const char* action) {
  const Change change = FindChange(builder, type);
  if (BecameTrue(change)) builder.AddEvent(event, type, action, change.after->reason + ": " + change.after->message);
}

void NoteAcceptance(PlanBuilder& builder) {
  const Change change = FindChange(builder, api::kAccepted);
  if (!HasNewReason(change)) return;
  const bool accepted = change.after->status == ConditionStatus::kTrue;
  builder.AddEvent(accepted ? EventType::kNormal : EventType::kWarning,
                   accepted ? api::kAccepted : change.after->reason, "Accept", change.after->message);
}

void NoteQuota(PlanBuilder& builder) {
  const Change change = FindChange(builder, api::kQuotaReserved);
  if (!HasNewReason(change) || change.after->reason == kJobEnded) return;  // the end has its own event
  const std::string& reason = change.after->reason;
  const bool is_usual = reason == kAdmitted || reason == kPending || reason == kEvicted || reason == kNotQueued;
  builder.AddEvent(is_usual ? EventType::kNormal : EventType::kWarning, reason, "Queue", change.after->message);
}

void NoteSuspension(PlanBuilder& builder) {
  const Change change = FindChange(builder, api::kSuspended);
  if (!HasNewReason(change)) return;
  if (change.after->status == ConditionStatus::kTrue) {
    builder.AddEvent(EventType::kNormal, api::kSuspended, "Suspend", change.after->message);
  } else {
    builder.AddEvent(EventType::kNormal, change.after->reason, change.after->reason == kResumed ? "Resume" : "Suspend",
                     change.after->message);
  }
}

void NoteAttempts(PlanBuilder& builder) {
  const api::Status& before = builder.training().status;
  const api::Status& after = builder.status();
  if (!before.started_at && after.started_at) {
    builder.AddEvent(EventType::kNormal, "Started", "Start", "the job starts");
  }
  if (after.incarnation > before.incarnation && after.incarnation > 1) {
    const bool on_purpose = after.restart_reason == kScaled || after.restart_reason == kResumed;
    builder.AddEvent(on_purpose ? EventType::kNormal : EventType::kWarning, "TrainersRestarted", "Restart",
                     after.restart_reason + ": incarnation " + std::to_string(after.incarnation) + ", " +
                         std::to_string(after.attempts_counted) + " failures counted");
  }
  if (after.partition_attempt > before.partition_attempt && after.partition_attempt > 1) {
    const bool on_purpose = after.restart_reason == kResumed;
    builder.AddEvent(on_purpose ? EventType::kNormal : EventType::kWarning, "PartitionerRestarted", "Restart",
                     after.restart_reason + ": attempt " + std::to_string(after.partition_attempt) + ", " +
                         std::to_string(after.attempts_counted) + " failures counted");
  }
}

// Reports failures of pods and blockers alike.
void NoteError(PlanBuilder& builder) {
  const auto& before = builder.training().status.last_error;
  const auto& after = builder.status().last_error;
  if (!after || (before && before->role == after->role && before->reason == after->reason)) return;
  std::string note = after->message;
  if (!after->pod.empty()) note = "pod " + after->pod + ": " + note;
  builder.AddEvent(EventType::kWarning, after->reason, "Watch", note);
}

}  // namespace

void NoteChanges(PlanBuilder& builder) {
  NoteAcceptance(builder);
  NoteQuota(builder);
  NoteSuspension(builder);
  NoteAttempts(builder);
  NoteError(builder);
  NoteTrue(builder, api::kPartitioned, EventType::kNormal, "Partition");
  NoteTrue(builder, api::kServersReady, EventType::kNormal, "Start");
  NoteTrue(builder, api::kTrainersReady, EventType::kNormal, "Start");
  NoteTrue(builder, api::kSucceeded, EventType::kNormal, "Finish");
  NoteTrue(builder, api::kFailed, EventType::kWarning, "Finish");
}

}  // namespace espalier::ctl::plan
