// How the end of a group of trainers counts. Their pods say what each has met (failure.h); what it was due to, others
// may know.
#pragma once

#include "operator/plan/failure.h"
#include "operator/plan/plan_builder.h"

namespace espalier::ctl::plan {

// Whether a program of the user's is in the trainers' place.
bool RunsAProgram(const PlanBuilder& builder);

// What has kept a group of trainers from starting: the reason (plan/reasons.h) and message of the blocker.
struct Obstacle {
  std::string reason;
  std::string message;
};
// Returns the obstacle recorded in TrainersReady for Job `job`: the current one, or an earlier one if not all pods have
// run since.
std::optional<Obstacle> ObstacleSeen(const api::Status& status, const std::string& job);
// Returns the message of TrainersReady for Job `job` by which ObstacleSeen finds `obstacle` again.
std::string MessageWithObstacle(const std::string& job, const Obstacle& obstacle);

// The settled `failure` of `job`, the trainers' of the current incarnation, with `retry`, `reason` and `message` set by
// what else is known:
//
//   HeldBack      74, while some of the trainers could not be started. Not counted, as what is in the way is not
//   ServerLost    74, and a server's pod was replaced since they began (evicted, deleted, gone with its node). Not
//                 counted, as a trainer's is not; a server that crashes in its pod is
//   CertificatesReplaced  77 and words about certificates, while the operator replaces its own, or has just done so
//   StoppedSoon   75 of a program of the user's within ten minutes of its start. It may mean "try later" by it
//                 (EX_TEMPFAIL) although nobody asked it to stop, and would go on so for ever. Not counted
//   StoppedAgain  the same once more: counted, as `espalier run` has it (docs/programs.md)
Failure AsItCounts(const PlanBuilder& builder, const kube::Job& job, Failure failure);

}  // namespace espalier::ctl::plan
