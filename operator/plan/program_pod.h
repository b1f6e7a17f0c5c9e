// The state of a pod. Its program containers, which are found by name (api/program_container.h), determine whether it
// is ready, has succeeded or has failed. Other containers, which are sidecars of a template or added by an admission
// webhook, do not count. A pod is *held* while another container still runs after the program containers have ended:
// the kubelet then keeps the phase Running, and the Job controller counts the pod as active.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "operator/plan/world.h"

namespace espalier::ctl::plan {

// The grace period with which a held pod is deleted. Also how long sidecars may hold the pods of a Job after the
// DistTraining has ended (cleanup.cc) or its graph is partitioned (partition_stage.cc), before the Job is deleted: a
// pod whose sidecars end by themselves in that time is kept, with its logs.
inline constexpr std::chrono::seconds kHeldPodGrace{30};

// Returns whether `container` runs the program of the pod's role, or, in a pod without a role label, of any role.
bool IsProgramContainer(const kube::Pod& pod, const kube::ContainerState& container);
// Returns whether `container` is program container 0, which is named after the role without a number.
bool IsFirstProgramContainer(const kube::Pod& pod, const kube::ContainerState& container);

// Returns whether the phase is terminal or all program containers have ended, even if other containers still run.
bool ProgramHasEnded(const kube::Pod& pod);
// Returns whether the phase is Succeeded or all program containers have ended with exit code 0. That includes a pod in
// phase Failed in which only other containers failed.
bool ProgramHasSucceeded(const kube::Pod& pod);
// Returns whether a trainer of the pod has failed while another one still runs. A pod with restartPolicy Never gets the
// phase Failed only when all of its containers have ended, and a trainer that waits for the failed one may take
// minutes.
bool HasPartlyFailed(const kube::Pod& pod);
// Returns whether each program container is ready or has succeeded, and at least one is ready. Returns false for a pod
// that is being deleted, and for a pod whose containers are all ready although the pod is not: its node is lost, or it
// waits for a readiness gate.
bool ProgramIsReady(const kube::Pod& pod);
// Returns whether the program has ended and another container has not. Meaningful for pods with restartPolicy Never.
bool IsHeld(const kube::Pod& pod);

// Returns how many of the Job's indexes have succeeded according to its status or to its pods' programs.
int64_t CountSucceeded(const JobRun& run);
// Returns the number of pods whose programs are ready.
int64_t CountReady(const JobRun& run);
// Returns whether all indexes have succeeded although the Job controller may never report it: a pod is held, the Job is
// being deleted, or it has failed because of another container's exit code. False without a Job, and if the deletion of
// a pod was requested before its programs ended.
bool HasSucceededDespiteOthers(const JobRun& run);
// Returns whether the Job controller has failed the Job or is about to (FailureTarget), a program has failed in a held
// pod, or HasPartlyFailed is true of a pod. Pods of a suspended Job do not count.
bool IsFailing(const JobRun& run);
// Returns whether no program runs any more and at least one pod is held.
bool IsHeldOnlyByOtherContainers(const JobRun& run);

// Returns "container istio-proxy holds pod cora-trainer-1-0-x, whose trainer has ended"; empty if no pod is held.
std::string HoldersText(const JobRun& run);
// The same for the first held pod of `runs`, which are indexed by attempt or incarnation. Skips the run with the number
// `except` (0: none).
std::string HoldersText(const std::map<int64_t, JobRun>& runs, int64_t except);

}  // namespace espalier::ctl::plan
