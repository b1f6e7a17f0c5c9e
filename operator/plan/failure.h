// Finds why a group of pods failed. One pod fails for a cause of its own; its peers fail because of it within 70 ms,
// and the Job controller deletes the rest. The cause is the end with the highest rank (base/failure_policy.h) among the
// pods that ended by themselves.
//
//   64, 65 > OOMKilled > a signal > 70, any other code > 77, ScriptChanged > disrupted, node lost > 75 > 74 >
//   SidecarFailed
//
// The program's containers decide (program_pod.h), even if another container keeps the pod running. A pod whose program
// has succeeded has not failed, but another container's exit code may make its Job fail: SidecarFailed is the cause
// only if no program failed.
//
// A pod with the condition DisruptionTarget is disrupted, whatever it reported. A pod whose deletion was requested
// before it ended counts only if no other failure is known, and then as 75, unless it reported something that SIGTERM
// does not cause (64, 65, OOMKilled; for a user's program OOMKilled alone). A pod that is still ending counts in the
// same way.
//
// A container whose end was not observed was lost with its node, as in a reboot, even if its pod was deleted meanwhile:
// its peers noticed the loss first (74), and their Job deleted the pod.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "operator/api/status.h"
#include "operator/kube/pod.h"
#include "services/base/failure_policy.h"

namespace espalier::ctl::plan {

struct Failure {
  CauseRank rank = CauseRank::kNone;
  Retry retry = Retry::kCounted;
  std::string reason;  // one of reasons.h, or telemetry::TerminationReason's
  std::string message;
  std::optional<int> exit_code;
  std::string pod;
  // From the start of the container to its end, by its node's clock; nullopt: not observed.
  std::optional<kube::WallTime::duration> ran_for = std::nullopt;
};

// Returns the failure of a container that ended with an error. Exit codes have the meaning of docs/exit-codes.md in the
// containers that run the program of the pod's role, and in the one that fetches a user's script
// (api/program_container.h); in sidecars and other init containers their meaning is unknown. ScriptChanged: the script
// is not the one that the job runs; the user may restore it, so the failure is retried.
Failure FindFailure(const kube::Pod& pod, const kube::ContainerState& container, const kube::ContainerEnd& end);
// Returns the failure of a pod, or nullopt if it has not failed.
std::optional<Failure> FindFailure(const kube::Pod& pod);

// How to count a pod that ended with 64 or 65 after its deletion was requested. A user's program may find files or
// peers gone while it ends, such as its peers' tensors (docs/programs.md); a real error in its input will occur again.
enum class BadInputDuringDeletion { kIsTrusted, kIsSecondary };
std::optional<Failure> StrongestFailure(std::span<const kube::Pod* const> pods, BadInputDuringDeletion bad_input);
// Returns the failure of a pod that ended with 64 or 65, now or before its last restart, and that the kubelet would
// restart forever; nullopt: there is none.
std::optional<Failure> FindPermanentFailure(std::span<const kube::Pod* const> pods);

// Returns whether the failure is only a consequence: the pod lost a peer or was deleted. The pod that failed first
// may give a cause.
bool IsSecondary(const Failure& failure);

// Returns whether the failure is 77 and its message is about certificates, the process's own or a peer's, and not about
// credentials of an object store.
bool IsAboutCertificates(const Failure& failure);
bool IsAboutCertificates(const std::string& reason, const std::string& message);

std::optional<Failure> PickStronger(std::optional<Failure> a, std::optional<Failure> b);
// Returns the failure of a pod that no longer exists, from the remembered `reason`, which was none of kNever.
Failure FailureOfDeletedPod(const std::string& reason);

bool HasEnded(const kube::Pod& pod);  // phase Succeeded or Failed

api::LastError ToLastError(const Failure& failure, const std::string& role);

}  // namespace espalier::ctl::plan
