// The operator knows facts that the pods do not: which blocker kept a trainer from starting (stored in the condition
// TrainersReady), which servers and certificates were replaced, and why the trainers were last restarted. With these
// facts it reclassifies failures with exit codes 74, 75 and 77, and no others.
#include "operator/plan/trainer_failure.h"

#include <algorithm>
#include <cstring>

#include "operator/plan/blockers.h"
#include "operator/plan/certificate_stage.h"
#include "services/base/exit_code.h"
#include "services/telemetry/termination.h"

namespace espalier::ctl::plan {
namespace {

constexpr std::chrono::minutes kSoonAfterStart{10};
// These words must not change: the operator also finds them in conditions that an earlier version has written.
constexpr char kBlockedBefore[] = "; held up before by ";
constexpr char kReasonEnd[] = ": ";

// Changes the reason of a failure with exit code 75 of a user's program to StoppedSoon or StoppedAgain if the program
// ran for less than kSoonAfterStart. The time since the Job's creation includes the time in which its pods wait for
// nodes, images and volumes, so it is used only if the program's own start is not known.
Failure ClassifyStop(const PlanBuilder& builder, const kube::Job& job, Failure failure) {
  const auto ran_for = failure.ran_for.value_or(builder.now() - job.meta.created_at);
  if (!HasUserProgram(builder) || ran_for >= kSoonAfterStart) return failure;
  const std::string& before = builder.status().restart_reason;
  failure.reason = kStoppedSoon;
  if (before != kStoppedSoon && before != kStoppedAgain) return failure;
  failure.reason = kStoppedAgain;
  failure.retry = Retry::kCounted;
  failure.message += "; counted: the program stopped again soon after its start";
  return failure;
}

// Returns a server pod that was created after `since`, or null. A container that restarts does not count, because it
// stays in its pod.
const kube::Pod* FindServerCreatedAfter(const World& world, kube::WallTime since) {
  const std::vector<const kube::Pod*>& servers = world.pods(api::Role::kServer);
  const auto found =
      std::find_if(servers.begin(), servers.end(), [&](const kube::Pod* pod) { return pod->meta.created_at > since; });
  return found == servers.end() ? nullptr : *found;
}

Failure NotCounted(Failure failure, const char* reason, const std::string& because) {
  failure.retry = Retry::kNotCounted;
  failure.reason = reason;
  failure.message += "; not counted: " + because;
  return failure;
}

// Returns whether the group of `job` has trained. All of its pods have run then, so a later blocker, such as that of a
// sidecar, has not kept a trainer from starting.
bool HasTrained(const api::Status& status, const kube::Job& job) {
  return status.progress && status.progress->last_updated >= job.meta.created_at && status.progress->percent > 0;
}

Failure ClassifyUnavailable(const PlanBuilder& builder, const kube::Job& job, Failure failure) {
  const api::Status& before = builder.training().status;
  // When the operator sees that the Job fails, the pods that could not start are already deleted. Only the stored
  // status still names the blocker.
  const std::optional<StoredBlocker> blocker = ReadStoredBlocker(before, job.meta.key.name);
  if (blocker && !HasTrained(before, job)) {
    return NotCounted(std::move(failure), kHeldBack, blocker->reason + kReasonEnd + blocker->message);
  }
  if (const kube::Pod* const server = FindServerCreatedAfter(builder.world(), job.meta.created_at)) {
    return NotCounted(std::move(failure), kServerLost,
                      "pod " + server->meta.key.name + " was created after the trainers");
  }
  return failure;
}

}  // namespace

std::optional<StoredBlocker> ReadStoredBlocker(const api::Status& status, const std::string& job) {
  const api::Condition* const condition = api::FindCondition(status, api::kTrainersReady);
  if (condition == nullptr || condition->status == api::ConditionStatus::kTrue) return std::nullopt;
  if (IsFixablePodBlocker(condition->reason)) return StoredBlocker{condition->reason, condition->message};
  const std::string prefix = "Job " + job + kBlockedBefore;
  if (condition->message.rfind(prefix, 0) != 0) return std::nullopt;
  const size_t reason_end = condition->message.find(kReasonEnd, prefix.size());
  if (reason_end == std::string::npos) return std::nullopt;
  return StoredBlocker{condition->message.substr(prefix.size(), reason_end - prefix.size()),
                       condition->message.substr(reason_end + std::strlen(kReasonEnd))};
}

std::string MessageWithBlocker(const std::string& job, const StoredBlocker& blocker) {
  return "Job " + job + kBlockedBefore + blocker.reason + kReasonEnd + blocker.message;
}

bool HasUserProgram(const PlanBuilder& builder) { return builder.training().spec && builder.spec().job.program; }

Failure ClassifyTrainerFailure(const PlanBuilder& builder, const kube::Job& job, Failure failure) {
  static const std::string kStopped = telemetry::TerminationReason(ExitCode::kAskedToStop);
  static const std::string kUnavailableReason = telemetry::TerminationReason(ExitCode::kUnavailable);
  const bool is_reported = failure.exit_code.has_value();  // by the program, not only inferred
  if (failure.reason == kStopped && is_reported) return ClassifyStop(builder, job, std::move(failure));
  if (IsAboutCertificates(failure) && CertificatesAreReplaced(builder, job)) {
    return NotCounted(std::move(failure), kCertificatesReplaced, "the operator has replaced the job's certificates");
  }
  if (failure.reason == kUnavailableReason) return ClassifyUnavailable(builder, job, std::move(failure));
  return failure;
}

}  // namespace espalier::ctl::plan
