#include "operator/plan/failure.h"

#include <algorithm>
#include <array>

#include "operator/api/program_container.h"
#include "operator/plan/reasons.h"
#include "operator/plan/termination_message.h"
#include "operator/resources/labels.h"
#include "services/base/exit_code.h"
#include "services/telemetry/termination.h"

namespace espalier::ctl::plan {
namespace {

constexpr int kHopeless = 8, kMemory = 7, kCrash = 6, kCredentials = 5, kDisruption = 4, kAsked = 3, kPeer = 2,
              kConsequence = 1;
constexpr int kSignalBase = 128;  // how shells and the kubelet write "killed by a signal"

// How containerd says that something ran when it was last there itself, as before a reboot, and does not now. A
// program's own 255 has the reason "Error".
constexpr char kEndUnknown[] = "Unknown";
constexpr int kExitCodeUnknown = 255;
// How the kubelet says that the runtime knows nothing of a container any more.
constexpr char kStatusUnknown[] = "ContainerStatusUnknown";

std::string ReasonOf(ExitCode code) { return telemetry::TerminationReason(code); }

Failure Of(int strength, Retry retry, std::string reason) {
  Failure failure;
  failure.strength = strength;
  failure.retry = retry;
  failure.reason = std::move(reason);
  return failure;
}

// A sidecar of a trainer may be called as a server is.
bool IsProgram(const kube::Pod& pod, const kube::ContainerState& container) {
  const auto component = pod.meta.labels.find(resources::kComponentLabel);
  return std::any_of(api::kRoles.begin(), api::kRoles.end(), [&](api::Role role) {
    const bool may_be_of_role = component == pod.meta.labels.end() || component->second == api::NameOf(role);
    return may_be_of_role && api::NumberOfContainer(role, container.name).has_value();
  });
}

// Nobody saw it end, and it is not there. The kubelet says so as well of what never ran, where the pod was deleted
// before that (only what did run has a last state), and where it ended the pod itself (which then has a reason).
bool WentWithItsNode(const kube::Pod& pod, const kube::ContainerState& container, const kube::ContainerEnd& end) {
  if (end.reason == kEndUnknown) return end.exit_code == kExitCodeUnknown;
  if (end.reason != kStatusUnknown) return false;
  const bool has_run = container.last_ended && container.last_ended->reason == kStatusUnknown;
  return has_run || (!pod.meta.deletion_requested_at && pod.reason.empty());
}

Failure ClassOf(const kube::Pod& pod, const kube::ContainerState& container, const kube::ContainerEnd& end) {
  if (end.reason == kOutOfMemory) return Of(kMemory, Retry::kCounted, kOutOfMemory);
  if (WentWithItsNode(pod, container, end)) return Of(kDisruption, Retry::kNotCounted, kNodeLost);
  if (end.signal != 0 || end.exit_code > kSignalBase) return Of(kCrash, Retry::kCounted, kSignal);
  if (!IsProgram(pod, container)) return Of(kCrash, Retry::kCounted, kOtherExit);
  const ExitCode code{end.exit_code};
  switch (code) {
    case ExitCode::kBadDocument:
    case ExitCode::kBadInput: return Of(kHopeless, Retry::kNever, ReasonOf(code));
    case ExitCode::kBug: return Of(kCrash, Retry::kCounted, ReasonOf(code));
    case ExitCode::kBadCredentials: return Of(kCredentials, Retry::kCounted, ReasonOf(code));
    case ExitCode::kAskedToStop: return Of(kAsked, Retry::kNotCounted, ReasonOf(code));
    case ExitCode::kUnavailable: return Of(kPeer, Retry::kCounted, ReasonOf(code));
    case ExitCode::kDone: break;
  }
  return Of(kCrash, Retry::kCounted, kOtherExit);
}

// What the container runtime says itself, of a program that it could not start.
bool IsOfTheRuntime(const kube::ContainerEnd& end) {
  return end.reason == "StartError" || end.reason == "ContainerCannotRun";
}

std::string MessageOf(const kube::ContainerEnd& end) {
  if (const auto said = ParseTermination(end.message); said && !said->message.empty()) return said->message;
  if (IsOfTheRuntime(end)) return end.reason + ": " + end.message;
  if (end.reason == kOutOfMemory) return "the container used more memory than its limit";
  if (end.signal != 0) return "killed by signal " + std::to_string(end.signal);
  if (end.exit_code > kSignalBase) return "killed by signal " + std::to_string(end.exit_code - kSignalBase);
  return "ended with exit code " + std::to_string(end.exit_code);
}

bool IsStronger(const std::optional<Failure>& a, const std::optional<Failure>& b) {
  return a && (!b || a->strength > b->strength);
}

// Our program leaves a message unless it is killed; a sidecar that ends because of it does not.
bool EndsMostLikelyOfOurs(const kube::ContainerState& container) {
  return ParseTermination(container.ended->message).has_value();
}

std::optional<Failure> StrongestContainer(const kube::Pod& pod) {
  std::optional<Failure> strongest;
  bool strongest_is_ours = false;
  for (const kube::ContainerState& container : pod.containers) {
    if (!container.ended || container.ended->succeeded()) continue;
    const std::optional<Failure> failure = FailureOf(pod, container, *container.ended);
    const bool is_ours = EndsMostLikelyOfOurs(container);
    if (strongest_is_ours && !is_ours && failure->strength < kMemory) continue;
    if ((is_ours && !strongest_is_ours) || IsStronger(failure, strongest)) {
      strongest = failure;
      strongest_is_ours = is_ours;
    }
  }
  return strongest;
}

// A whole second, because that is all that Kubernetes' times have; none where the kubelet did not see the end.
bool EndedBeforeItsDeletion(const kube::Pod& pod) {
  if (!pod.meta.deletion_requested_at) return true;
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const kube::ContainerState& container) {
    return container.ended && container.ended->exit_code != 0 && container.ended->reason != kStatusUnknown &&
           container.ended->finished_at < *pod.meta.deletion_requested_at;
  });
}

Failure OfPod(int strength, const char* reason, std::string message, const kube::Pod& pod) {
  Failure failure = Of(strength, Retry::kNotCounted, reason);
  failure.message = std::move(message);
  failure.pod = pod.meta.key.name;
  return failure;
}

Failure ToldToEnd(const kube::Pod& pod) {
  return OfPod(kConsequence, telemetry::TerminationReason(ExitCode::kAskedToStop), "the pod was deleted", pod);
}

bool IsHopeless(const kube::Pod& pod, const kube::ContainerState& container,
                const std::optional<kube::ContainerEnd>& end) {
  return end && ClassOf(pod, container, *end).retry == Retry::kNever;
}

}  // namespace

bool HasEnded(const kube::Pod& pod) {
  return pod.phase == kube::PodPhase::kSucceeded || pod.phase == kube::PodPhase::kFailed;
}

Failure FailureOf(const kube::Pod& pod, const kube::ContainerState& container, const kube::ContainerEnd& end) {
  Failure failure = ClassOf(pod, container, end);
  failure.pod = pod.meta.key.name;
  if (failure.reason == kNodeLost) {  // whose exit code is no program's
    failure.message = "the node lost the container, and nobody saw it end (" + end.reason + ")";
    return failure;
  }
  failure.message = MessageOf(end);
  failure.exit_code = end.exit_code;
  return failure;
}

std::optional<Failure> FailureOf(const kube::Pod& pod) {
  if (pod.phase == kube::PodPhase::kSucceeded) return std::nullopt;
  const bool has_failed = pod.phase == kube::PodPhase::kFailed;
  // Before Failed: on a dead node no kubelet says what became of it.
  if (pod.disruption_target && (has_failed || pod.meta.deletion_requested_at)) {
    return OfPod(kDisruption, kDisrupted, pod.message.empty() ? "the pod was evicted" : pod.message, pod);
  }
  if (pod.phase == kube::PodPhase::kUnknown || pod.reason == kNodeLost) {
    return OfPod(kDisruption, kNodeLost, pod.message.empty() ? "the pod's node does not answer" : pod.message, pod);
  }
  if (!has_failed) return std::nullopt;

  std::optional<Failure> failure = StrongestContainer(pod);
  const bool sigterm_causes_it = !failure || (failure->strength < kMemory && failure->reason != kNodeLost);
  if (sigterm_causes_it && !EndedBeforeItsDeletion(pod)) {
    return ToldToEnd(pod);
  }
  if (failure) return failure;
  failure = OfPod(kCrash, kPodRejected, pod.message.empty() ? pod.reason : pod.message, pod);
  failure->retry = Retry::kCounted;
  return failure;
}

std::optional<Failure> StrongestFailure(std::span<const kube::Pod* const> pods, BadInputOnTheWayOut bad_input) {
  std::optional<Failure> strongest;
  for (const kube::Pod* pod : pods) {
    std::optional<Failure> failure = FailureOf(*pod);
    const bool is_bad_input = failure && failure->retry == Retry::kNever;
    if (is_bad_input && bad_input == BadInputOnTheWayOut::kIsAConsequence && !EndedBeforeItsDeletion(*pod)) {
      failure = ToldToEnd(*pod);
    }
    if (!failure && pod->meta.deletion_requested_at && !HasEnded(*pod)) failure = ToldToEnd(*pod);
    if (IsStronger(failure, strongest)) strongest = failure;
  }
  return strongest;
}

std::optional<Failure> HopelessFailure(std::span<const kube::Pod* const> pods) {
  for (const kube::Pod* pod : pods) {
    for (const kube::ContainerState& container : pod->containers) {
      if (IsHopeless(*pod, container, container.ended)) return FailureOf(*pod, container, *container.ended);
      if (IsHopeless(*pod, container, container.last_ended)) return FailureOf(*pod, container, *container.last_ended);
    }
  }
  return std::nullopt;
}

bool IsAConsequence(const Failure& failure) { return failure.strength <= kPeer; }

bool IsAboutCertificates(const std::string& reason, const std::string& message) {
  if (reason != ReasonOf(ExitCode::kBadCredentials)) return false;
  return message.find("certificate") != std::string::npos || message.find(".crt") != std::string::npos;
}

bool IsAboutCertificates(const Failure& failure) { return IsAboutCertificates(failure.reason, failure.message); }

std::optional<Failure> StrongerOf(std::optional<Failure> a, std::optional<Failure> b) {
  if (IsStronger(b, a)) return b;
  return a;
}

Failure FailureOfAGonePod(const std::string& reason) {
  const auto of = [&reason](int strength, Retry retry, const char* message) {
    Failure failure = Of(strength, retry, reason);
    failure.message = message;
    return failure;
  };
  if (reason == ReasonOf(ExitCode::kAskedToStop)) return of(kConsequence, Retry::kNotCounted, "a pod was deleted");
  if (reason == kDisrupted || reason == kNodeLost) {
    return of(kDisruption, Retry::kNotCounted, "a pod was evicted, or went with its node");
  }
  constexpr const char* kGone = "a pod failed and is gone";
  if (reason == ReasonOf(ExitCode::kUnavailable)) return of(kPeer, Retry::kCounted, kGone);
  if (reason == ReasonOf(ExitCode::kBadCredentials)) return of(kCredentials, Retry::kCounted, kGone);
  return of(kCrash, Retry::kCounted, kGone);
}

api::LastError LastErrorOf(const Failure& failure, const std::string& role) {
  return {.role = role,
          .reason = failure.reason,
          .message = failure.message,
          .exit_code = failure.exit_code,
          .pod = failure.pod};
}

}  // namespace espalier::ctl::plan
