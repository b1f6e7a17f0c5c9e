// Classify maps the end of one container to a rank and a retry rule. FindFailure finds the failure of a pod: first a
// disruption or a lost node, then the strongest failure of its containers. If SIGTERM may have caused that failure,
// because the pod's deletion was requested before, it counts as exit code 75 with the lowest rank. StrongestFailure
// compares the pods of a group.
#include "operator/plan/failure.h"

#include <algorithm>

#include "operator/api/program_container.h"
#include "operator/plan/program_pod.h"
#include "operator/plan/reasons.h"
#include "operator/plan/termination_message.h"
#include "services/base/exit_code.h"
#include "services/telemetry/termination.h"

namespace espalier::ctl::plan {
namespace {

constexpr int kSignalBase = 128;  // shells and the kubelet report a death by signal N as exit code kSignalBase + N

constexpr FailureRule kByMemory{CauseRank::kMemory, Retry::kCounted}, kByError{CauseRank::kError, Retry::kCounted},
    kByCredentials{CauseRank::kCredentials, Retry::kCounted}, kByDisruption{CauseRank::kDisruption, Retry::kNotCounted},
    kByPeer{CauseRank::kPeer, Retry::kCounted}, kByOtherContainer{CauseRank::kOtherContainer, Retry::kCounted},
    kByDeletion{CauseRank::kConsequence, Retry::kNotCounted};

// containerd's reason for a container that was running when containerd stopped, for example at a reboot, and that no
// longer runs after containerd has started again. A program that exits with 255 has the reason "Error" instead.
constexpr char kEndUnknown[] = "Unknown";
constexpr int kExitCodeUnknown = 255;
// The kubelet's reason for a container that the runtime no longer knows.
constexpr char kStatusUnknown[] = "ContainerStatusUnknown";

std::string ToReason(ExitCode code) { return telemetry::TerminationReason(code); }

Failure MakeFailure(FailureRule rule, std::string reason) {
  Failure failure;
  failure.rank = rule.rank;
  failure.retry = rule.retry;
  failure.reason = std::move(reason);
  return failure;
}

// Returns whether the container was lost with its node: its end was not observed, and it no longer exists. The kubelet
// also writes kStatusUnknown in two other cases: for a container that never ran because its pod was deleted first (the
// container then has no last state), and for the containers of a pod that the kubelet itself has ended (the pod then
// has a reason).
bool WasLostWithNode(const kube::Pod& pod, const kube::ContainerState& container, const kube::ContainerEnd& end) {
  if (end.reason == kEndUnknown) return end.exit_code == kExitCodeUnknown;
  if (end.reason != kStatusUnknown) return false;
  const bool has_run = container.last_ended && container.last_ended->reason == kStatusUnknown;
  return has_run || (!pod.meta.deletion_requested_at && pod.reason.empty());
}

Failure Classify(const kube::Pod& pod, const kube::ContainerState& container, const kube::ContainerEnd& end) {
  if (end.reason == kOutOfMemory) return MakeFailure(kByMemory, kOutOfMemory);
  if (WasLostWithNode(pod, container, end)) return MakeFailure(kByDisruption, kNodeLost);
  const FailureRule rule = RuleForEnd(end.exit_code, end.signal);
  if (rule.rank == CauseRank::kSignal) return MakeFailure(rule, kSignal);
  if (!IsProgramContainer(pod, container)) {
    const std::optional<Termination> termination =
        container.name == api::kScriptContainer ? ParseTermination(end.message) : std::nullopt;
    if (!termination) return MakeFailure(kByError, kOtherExit);
    // The container failed after it had read a script: the script is not the one that the job runs.
    if (!termination->script_sha256.empty()) return MakeFailure(kByCredentials, kScriptChanged);
  }
  const ExitCode code{end.exit_code};
  return MakeFailure(
      rule, code != ExitCode::kDone && MeaningOfExitCode(end.exit_code) != nullptr ? ToReason(code) : kOtherExit);
}

// Returns whether the container runtime reports that it could not start the program.
bool IsRuntimeError(const kube::ContainerEnd& end) {
  return end.reason == "StartError" || end.reason == "ContainerCannotRun";
}

std::string SelectMessage(const kube::ContainerEnd& end) {
  if (const auto termination = ParseTermination(end.message); termination && !termination->message.empty())
    return termination->message;
  if (IsRuntimeError(end)) return end.reason + ": " + end.message;
  if (end.reason == kOutOfMemory) return "the container used more memory than its limit";
  if (end.signal != 0) return "killed by signal " + std::to_string(end.signal);
  if (end.exit_code > kSignalBase) return "killed by signal " + std::to_string(end.exit_code - kSignalBase);
  return "ended with exit code " + std::to_string(end.exit_code);
}

bool IsStronger(const std::optional<Failure>& a, const std::optional<Failure>& b) {
  return a && (!b || a->rank > b->rank);
}

// Returns the strongest failure of the pod's containers. If a program container has failed, only the failures of
// program containers count. Other containers count only if no program container has failed, for example because an init
// container failed first.
std::optional<Failure> StrongestContainerFailure(const kube::Pod& pod) {
  std::optional<Failure> strongest;
  bool program_has_failed = false;
  for (const kube::ContainerState& container : pod.containers) {
    if (!container.ended || container.ended->succeeded()) continue;
    const bool is_program = IsProgramContainer(pod, container);
    if (program_has_failed && !is_program) continue;
    const std::optional<Failure> failure = FindFailure(pod, container, *container.ended);
    if ((is_program && !program_has_failed) || IsStronger(failure, strongest)) strongest = failure;
    program_has_failed = program_has_failed || is_program;
  }
  return strongest;
}

Failure MakePodFailure(FailureRule rule, const char* reason, std::string message, const kube::Pod& pod) {
  Failure failure = MakeFailure(rule, reason);
  failure.message = std::move(message);
  failure.pod = pod.meta.key.name;
  return failure;
}

Failure FailureAfterDeletionRequest(const kube::Pod& pod) {
  return MakePodFailure(kByDeletion, telemetry::TerminationReason(ExitCode::kAskedToStop), "the pod was deleted", pod);
}

Failure MakeEviction(const kube::Pod& pod) {
  return MakePodFailure(kByDisruption, kDisrupted, pod.message.empty() ? "the pod was evicted" : pod.message, pod);
}

// Returns the failure of a pod that the Job controller counts as failed although its program ended with 0. A container
// may end with any exit code after SIGTERM, so only a container that ended before the pod's deletion was requested is a
// cause.
std::optional<Failure> FailureByAnotherContainer(const kube::Pod& pod) {
  if (pod.phase != kube::PodPhase::kFailed || !ProgramHasSucceeded(pod)) return std::nullopt;
  if (pod.disruption_target) return MakeEviction(pod);
  const std::optional<kube::WallTime>& deleted_at = pod.meta.deletion_requested_at;
  for (const kube::ContainerState& container : pod.containers) {
    if (!container.ended || container.ended->succeeded()) continue;
    if (deleted_at && container.ended->finished_at >= *deleted_at) continue;
    Failure failure = MakeFailure(kByOtherContainer, kSidecarFailed);
    failure.message = "container " + container.name + " ended with exit code " +
                      std::to_string(container.ended->exit_code) +
                      " in a pod whose program had succeeded, which makes the Job fail";
    failure.pod = pod.meta.key.name;
    return failure;
  }
  return deleted_at ? std::optional(FailureAfterDeletionRequest(pod)) : std::nullopt;
}

// Returns whether a container failed in an earlier second than the one in which the pod's deletion was requested: times
// in Kubernetes are whole seconds. Only program containers count if one has ended. A container whose end the kubelet
// did not observe does not count. Returns true if no deletion was requested.
bool FailedBeforeDeletionRequest(const kube::Pod& pod) {
  if (!pod.meta.deletion_requested_at) return true;
  const bool has_program = std::any_of(
      pod.containers.begin(), pod.containers.end(),
      [&](const kube::ContainerState& container) { return container.ended && IsProgramContainer(pod, container); });
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const kube::ContainerState& container) {
    return container.ended && container.ended->exit_code != 0 && container.ended->reason != kStatusUnknown &&
           (!has_program || IsProgramContainer(pod, container)) &&
           container.ended->finished_at < *pod.meta.deletion_requested_at;
  });
}

bool ForbidsRetry(const kube::Pod& pod, const kube::ContainerState& container,
                  const std::optional<kube::ContainerEnd>& end) {
  return end && Classify(pod, container, *end).retry == Retry::kNever;
}

}  // namespace

bool HasEnded(const kube::Pod& pod) {
  return pod.phase == kube::PodPhase::kSucceeded || pod.phase == kube::PodPhase::kFailed;
}

Failure FindFailure(const kube::Pod& pod, const kube::ContainerState& container, const kube::ContainerEnd& end) {
  Failure failure = Classify(pod, container, end);
  failure.pod = pod.meta.key.name;
  if (failure.reason == kNodeLost) {  // the exit code is not the program's
    failure.message = "the node lost the container, and its end was not observed (" + end.reason + ")";
    return failure;
  }
  failure.message = SelectMessage(end);
  if (!IsFirstProgramContainer(pod, container))
    failure.message = "container " + container.name + ": " + failure.message;
  failure.exit_code = end.exit_code;
  if (end.started_at) failure.ran_for = end.finished_at - *end.started_at;
  return failure;
}

std::optional<Failure> FindFailure(const kube::Pod& pod) {
  if (ProgramHasSucceeded(pod)) return std::nullopt;
  const bool has_failed = ProgramHasEnded(pod) || HasPartlyFailed(pod);
  // The pod need not have ended if its deletion was requested: on a lost node no kubelet reports how it ended.
  if (pod.disruption_target && (has_failed || pod.meta.deletion_requested_at)) {
    return MakeEviction(pod);
  }
  if (pod.phase == kube::PodPhase::kUnknown || pod.reason == kNodeLost) {
    return MakePodFailure(kByDisruption, kNodeLost,
                          pod.message.empty() ? "the pod's node does not answer" : pod.message, pod);
  }
  if (!has_failed) return std::nullopt;

  std::optional<Failure> failure = StrongestContainerFailure(pod);
  const bool sigterm_can_cause_it = !failure || (failure->rank < CauseRank::kMemory && failure->reason != kNodeLost);
  if (sigterm_can_cause_it && !FailedBeforeDeletionRequest(pod)) {
    return FailureAfterDeletionRequest(pod);
  }
  if (failure) return failure;
  return MakePodFailure(kByError, kPodRejected, pod.message.empty() ? pod.reason : pod.message, pod);
}

std::optional<Failure> StrongestFailure(std::span<const kube::Pod* const> pods, BadInputDuringDeletion bad_input) {
  std::optional<Failure> strongest;
  for (const kube::Pod* pod : pods) {
    std::optional<Failure> failure = FindFailure(*pod);
    const bool is_bad_input = failure && failure->retry == Retry::kNever;
    if (is_bad_input && bad_input == BadInputDuringDeletion::kIsSecondary && !FailedBeforeDeletionRequest(*pod)) {
      failure = FailureAfterDeletionRequest(*pod);
    }
    if (!failure) failure = FailureByAnotherContainer(*pod);
    if (!failure && pod->meta.deletion_requested_at && !ProgramHasEnded(*pod))
      failure = FailureAfterDeletionRequest(*pod);
    if (IsStronger(failure, strongest)) strongest = failure;
  }
  return strongest;
}

std::optional<Failure> FindPermanentFailure(std::span<const kube::Pod* const> pods) {
  for (const kube::Pod* pod : pods) {
    for (const kube::ContainerState& container : pod->containers) {
      if (ForbidsRetry(*pod, container, container.ended)) return FindFailure(*pod, container, *container.ended);
      if (ForbidsRetry(*pod, container, container.last_ended))
        return FindFailure(*pod, container, *container.last_ended);
    }
  }
  return std::nullopt;
}

bool IsSecondary(const Failure& failure) { return failure.rank <= CauseRank::kPeer; }

bool IsAboutCertificates(const std::string& reason, const std::string& message) {
  if (reason != ToReason(ExitCode::kBadCredentials)) return false;
  return message.find("certificate") != std::string::npos || message.find(".crt") != std::string::npos;
}

bool IsAboutCertificates(const Failure& failure) { return IsAboutCertificates(failure.reason, failure.message); }

std::optional<Failure> PickStronger(std::optional<Failure> a, std::optional<Failure> b) {
  if (IsStronger(b, a)) return b;
  return a;
}

Failure FailureOfDeletedPod(const std::string& reason) {
  const auto make = [&reason](FailureRule rule, const char* message) {
    Failure failure = MakeFailure(rule, reason);
    failure.message = message;
    return failure;
  };
  if (reason == ToReason(ExitCode::kAskedToStop)) return make(kByDeletion, "a pod was deleted");
  if (reason == kDisrupted || reason == kNodeLost)
    return make(kByDisruption, "a pod was evicted, or lost with its node");
  constexpr const char* kGone = "a pod failed and was deleted";
  if (reason == kSidecarFailed) return make(kByOtherContainer, kGone);
  if (reason == ToReason(ExitCode::kUnavailable)) return make(kByPeer, kGone);
  if (reason == kScriptChanged || reason == ToReason(ExitCode::kBadCredentials)) return make(kByCredentials, kGone);
  if (reason == kOutOfMemory) return make(kByMemory, kGone);
  if (reason == kSignal) return make({CauseRank::kSignal, Retry::kCounted}, kGone);
  return make(kByError, kGone);
}

api::LastError ToLastError(const Failure& failure, const std::string& role) {
  return {.role = role,
          .reason = failure.reason,
          .message = failure.message,
          .exit_code = failure.exit_code,
          .pod = failure.pod};
}

}  // namespace espalier::ctl::plan
