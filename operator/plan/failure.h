// Finds why a group of pods failed. One pod fails for a cause of its own; its peers fail because of it within
// milliseconds, and the Job controller deletes the rest. The cause is the failure with the highest rank
// (base/failure_policy.h). The numbers here and below are exit codes:
//
//   64, 65 > OOMKilled > a signal > 70, any other code > 77, ScriptChanged > disrupted, node lost > 75 > 74 >
//   SidecarFailed
//
// The program's containers determine whether a pod has failed (program_pod.h), even if another container keeps the pod
// running. A pod whose program has succeeded has not failed, but another container's exit code may make its Job fail.
// That is SidecarFailed, which is the cause only if no program failed.
//
// A pod with the condition DisruptionTarget counts as disrupted, whatever it reported, if it has failed, or if its
// deletion was requested and its program has not succeeded. If the deletion of any other pod was requested before it
// ended, SIGTERM may have caused its failure. The failure then counts as 75 with the lowest of all ranks. Failures that
// SIGTERM does not cause keep their rank: OOMKilled, NodeLost and, unless the pod runs a user's program, 64 and 65. A
// pod whose deletion was requested and whose program still runs also counts as 75 with the lowest rank.
//
// A container whose end was not observed was lost with its node, for example in a reboot. That also holds if the
// deletion of its pod was requested: the peers of the pod noticed the loss first and ended with 74, and then the Job
// controller requested the deletion.
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
  std::string reason;  // a constant of reasons.h, or a name that telemetry::TerminationReason returns
  std::string message;
  std::optional<int> exit_code;
  std::string pod;
  // From the start of the container to its end, by its node's clock; nullopt: not observed.
  std::optional<kube::WallTime::duration> ran_for = std::nullopt;
};

// Returns the failure of a container that ended with an error. docs/exit-codes.md defines the exit codes of program
// containers and of the container that fetches a user's script (api/program_container.h). Exit codes of sidecars and
// other init containers have no defined meaning. ScriptChanged means that the fetched script is not the one that the
// job's first pod read (status.script). This failure is retried, because the user may restore the script.
Failure FindFailure(const kube::Pod& pod, const kube::ContainerState& container, const kube::ContainerEnd& end);
// Returns the failure of a pod, or nullopt if it has not failed.
std::optional<Failure> FindFailure(const kube::Pod& pod);

// Whether exit code 64 or 65 of a pod whose deletion had been requested is trusted (kIsTrusted), or counts as a
// consequence of the deletion (kIsSecondary). kIsSecondary is for a user's program: it may end with these codes because
// files, or the tensors of its peers, are already gone (docs/programs.md). A real error in its input occurs again in
// the next attempt.
enum class BadInputDuringDeletion { kIsTrusted, kIsSecondary };
// Returns the strongest failure of the pods, or nullopt if none of them has failed.
std::optional<Failure> StrongestFailure(std::span<const kube::Pod* const> pods, BadInputDuringDeletion bad_input);
// Returns the failure of a container whose current or previous run ended with 64 or 65: the kubelet would restart it
// forever. nullopt: there is none.
std::optional<Failure> FindPermanentFailure(std::span<const kube::Pod* const> pods);

// Returns whether the failure may be only a consequence of another pod's failure, which that pod may still report.
// Such failures are 74, SidecarFailed, and failures that count as 75 with the lowest rank (top of this file).
bool IsSecondary(const Failure& failure);

// Returns whether the failure is 77 because of a certificate of the process or of a peer. 77 because of credentials of
// an object store returns false.
bool IsAboutCertificates(const Failure& failure);
bool IsAboutCertificates(const std::string& reason, const std::string& message);

// Returns the failure with the higher rank; `a` if the ranks are equal.
std::optional<Failure> PickStronger(std::optional<Failure> a, std::optional<Failure> b);
// Returns the failure of a pod that no longer exists. `reason` is its stored reason, which must be that of a failure
// with a retry (not Retry::kNever).
Failure FailureOfDeletedPod(const std::string& reason);

bool HasEnded(const kube::Pod& pod);  // phase Succeeded or Failed

api::LastError ToLastError(const Failure& failure, const std::string& role);

}  // namespace espalier::ctl::plan
