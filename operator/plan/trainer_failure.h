// Decides how the failure of a group of trainers counts. Each pod reports only the error that it met itself
// (failure.h). The status and other objects may show the cause, for example a server pod that was replaced.
#pragma once

#include "operator/plan/failure.h"
#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Returns whether the trainers run a user's program.
bool HasUserProgram(const PlanBuilder& builder);

// A blocker that has kept a group of trainers from starting: its reason (plan/reasons.h) and message.
struct StoredBlocker {
  std::string reason;
  std::string message;
};
// Returns the blocker that the condition TrainersReady contains for Job `job`: the current one, or an earlier one that
// the condition keeps until all pods of the group have started.
std::optional<StoredBlocker> ReadStoredBlocker(const api::Status& status, const std::string& job);
// Returns a message of TrainersReady for Job `job` from which ReadStoredBlocker reads `blocker` back.
std::string MessageWithBlocker(const std::string& job, const StoredBlocker& blocker);

// Returns `failure`, the cause of the failure of `job`, which is the Job of the current incarnation. In these cases
// facts that the pods do not report change its `reason` and, except for StoppedSoon, its `retry` and `message` (the
// numbers are exit codes):
//
//   HeldBack      74, while some of the trainers could not be started. Not counted, because a blocker is not counted
//   ServerLost    74, and a server pod was replaced since the Job began (evicted, deleted, lost with its node). Not
//                 counted. The failure is counted if a server has only restarted in its pod
//   CertificatesReplaced  77 with a message about certificates, while certificates that the operator makes for the job
//                 are missing or expired, or after it has replaced them (CertificatesAreReplaced). Not counted
//   StoppedSoon   75 of a user's program within ten minutes of its start, although it was not asked to stop. Not
//                 counted. The program may mean "try later" (EX_TEMPFAIL)
//   StoppedAgain  75 as for StoppedSoon, and the previous restart was for StoppedSoon or StoppedAgain. Counted, as by
//                 `espalier run` (docs/programs.md), because the program would otherwise be restarted forever
Failure ClassifyTrainerFailure(const PlanBuilder& builder, const kube::Job& job, Failure failure);

}  // namespace espalier::ctl::plan
