// What the program's containers say of a pod. A pod may hold containers that are not the program's: sidecars of a
// template, or containers that an admission webhook adds. They never decide: the program's containers, found by name
// (api/program_container.h), decide whether the pod is ready, has succeeded or has failed. A pod is *held* while
// another container runs on after the program's have ended: the kubelet then keeps the phase Running, and the Job
// controller counts the pod as active.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "operator/plan/world.h"

namespace espalier::ctl::plan {

// How long containers may run on after the program's have ended, and the grace period with which a held pod is deleted.
// Sidecars that end by themselves keep their pods, and so their logs.
inline constexpr std::chrono::seconds kHeldGrace{30};

// Returns whether `container` runs the program of the pod's role. Without a role label every role's names count.
bool IsProgramContainer(const kube::Pod& pod, const kube::ContainerState& container);

// The phase is terminal, or all program containers have ended, whatever runs beside them.
bool ProgramHasEnded(const kube::Pod& pod);
// The same with exit code 0. A pod in phase Failed counts where only other containers failed.
bool ProgramHasSucceeded(const kube::Pod& pod);
// All program containers are ready. A pod that is not Ready although each of its containers is lies on a lost node or
// waits for a readiness gate: it is not ready. Nor is a pod that is being deleted.
bool ProgramIsReady(const kube::Pod& pod);
// The program has ended and another container has not. Meaningful for pods with restartPolicy Never.
bool IsHeld(const kube::Pod& pod);

// The largest number of the Job's indexes known to have succeeded, by its status or by its pods' programs.
int64_t CountSucceeded(const JobRun& run);
int64_t CountReady(const JobRun& run);
// All indexes have succeeded although the Job controller may never say so: a pod is held, or another container's exit
// code has failed its pod. False without a Job.
bool HasSucceededDespiteOthers(const JobRun& run);
// Returns whether the Job controller has given the Job up, or, unless the Job is suspended, a program has failed in a
// pod that is held.
bool IsFailing(const JobRun& run);
// No program runs any more, and at least one pod is held.
bool IsHeldByOthersAlone(const JobRun& run);

// "container istio-proxy holds pod cora-trainer-1-0-x, whose trainer has ended"; empty where no pod is held.
std::string HoldersText(const JobRun& run);
// The same of all runs but `number`.
std::string HoldersText(const std::map<int64_t, JobRun>& runs, int64_t except);

}  // namespace espalier::ctl::plan
