// Events: what is different between the stored status and the one of this plan. They are recorded once the status is
// written, so that what is told once has happened once.

#include <string_view>

#include "operator/plan/stages.h"

namespace espalier::ctl::plan {
namespace {

using api::Condition;
using api::ConditionStatus;
using runtime::EventType;

struct Change {
  const Condition* before;  // null: not there
  const Condition* after;
};

Change ChangeOf(const Draft& draft, const char* type) {
  return {api::FindCondition(draft.training().status, type), api::FindCondition(draft.status(), type)};
}

bool BecameTrue(const Change& change) {
  return change.after != nullptr && change.after->status == ConditionStatus::kTrue &&
         (change.before == nullptr || change.before->status != ConditionStatus::kTrue);
}

bool HasNewReason(const Change& change) {
  return change.after != nullptr && (change.before == nullptr || change.before->status != change.after->status ||
                                     change.before->reason != change.after->reason);
}

void NoteTrue(Draft& draft, const char* type, EventType event, const char* action) {
  const Change change = ChangeOf(draft, type);
  if (BecameTrue(change)) draft.Note(event, type, action, change.after->reason + ": " + change.after->message);
}

void NoteAcceptance(Draft& draft) {
  const Change change = ChangeOf(draft, api::kAccepted);
  if (!HasNewReason(change)) return;
  const bool accepted = change.after->status == ConditionStatus::kTrue;
  draft.Note(accepted ? EventType::kNormal : EventType::kWarning, accepted ? api::kAccepted : change.after->reason,
             "Accept", change.after->message);
}

void NoteSuspension(Draft& draft) {
  const Change change = ChangeOf(draft, api::kSuspended);
  if (!HasNewReason(change)) return;
  if (change.after->status == ConditionStatus::kTrue) {
    draft.Note(EventType::kNormal, api::kSuspended, "Suspend", change.after->message);
  } else {
    draft.Note(EventType::kNormal, change.after->reason, change.after->reason == kResumed ? "Resume" : "Suspend",
               change.after->message);
  }
}

void NoteAttempts(Draft& draft) {
  const api::Status& before = draft.training().status;
  const api::Status& after = draft.status();
  if (!before.started_at && after.started_at) {
    draft.Note(EventType::kNormal, "Started", "Start", "the job starts");
  }
  if (after.incarnation > before.incarnation && after.incarnation > 1) {
    const bool on_purpose = after.restart_reason == kScaled || after.restart_reason == kResumed;
    draft.Note(on_purpose ? EventType::kNormal : EventType::kWarning, "TrainersRestarted", "Restart",
               after.restart_reason + ": incarnation " + std::to_string(after.incarnation) + ", " +
                   std::to_string(after.attempts_counted) + " failures counted");
  }
  if (after.partition_attempt > before.partition_attempt && after.partition_attempt > 1) {
    const bool on_purpose = after.restart_reason == kResumed;
    draft.Note(on_purpose ? EventType::kNormal : EventType::kWarning, "PartitionerRestarted", "Restart",
               after.restart_reason + ": attempt " + std::to_string(after.partition_attempt) + ", " +
                   std::to_string(after.attempts_counted) + " failures counted");
  }
}

// Failures of pods and what stands in the way alike.
void NoteError(Draft& draft) {
  const auto& before = draft.training().status.last_error;
  const auto& after = draft.status().last_error;
  if (!after || (before && before->role == after->role && before->reason == after->reason)) return;
  std::string note = after->message;
  if (!after->pod.empty()) note = "pod " + after->pod + ": " + note;
  draft.Note(EventType::kWarning, after->reason, "Watch", note);
}

}  // namespace

void NoteChanges(Draft& draft) {
  NoteAcceptance(draft);
  NoteSuspension(draft);
  NoteAttempts(draft);
  NoteError(draft);
  NoteTrue(draft, api::kPartitioned, EventType::kNormal, "Partition");
  NoteTrue(draft, api::kServersReady, EventType::kNormal, "Start");
  NoteTrue(draft, api::kTrainersReady, EventType::kNormal, "Start");
  NoteTrue(draft, api::kSucceeded, EventType::kNormal, "Finish");
  NoteTrue(draft, api::kFailed, EventType::kWarning, "Finish");
}

}  // namespace espalier::ctl::plan
