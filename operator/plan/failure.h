// Why a group of pods failed: one died of something, its peers die of its death within 70 ms, and the Job controller
// deletes the rest. The cause is the strongest reason among those that ended by themselves.
//
//   64, 65 > OOMKilled > 70, a signal, any other code > 77, ScriptChanged > disrupted, node lost > 75 > 74 >
//   SidecarFailed
//
// The program's containers decide (program_pod.h), also while another container keeps the pod running after them. A
// pod whose program has succeeded has not failed; another container's exit code may make its Job fail all the same.
// SidecarFailed is the cause only if no program failed.
//
// A pod with the condition DisruptionTarget is disrupted whatever it said. One that was being deleted when it ended was
// told to end: unless it left something that SIGTERM does not cause (64, 65, OOMKilled; of a program of the user's
// OOMKilled alone), it counts only where nothing else is known, and then as 75. So does one that is still ending.
//
// A container whose end nobody saw went with its node, as in a reboot, also where its pod was told to end meanwhile:
// its peers have noticed first (74), and their Job has told it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "operator/api/status.h"
#include "operator/kube/pod.h"

namespace espalier::ctl::plan {

enum class Retry { kNever, kCounted, kNotCounted };

struct Failure {
  int strength = 0;  // the larger, the likelier it is the cause
  Retry retry = Retry::kCounted;
  std::string reason;  // one of reasons.h, or telemetry::TerminationReason's
  std::string message;
  std::optional<int> exit_code;
  std::string pod;
};

// Of a container that ended with an error. Exit codes are ours (docs/exit-codes.md) in the containers that run the
// program of the pod's role, and in the one that fetches a user's script (api/program_container.h); what a sidecar or
// another init container means by 65 is unknown. ScriptChanged: the script is not the one that the job runs, and may be
// put back.
Failure FindFailure(const kube::Pod& pod, const kube::ContainerState& container, const kube::ContainerEnd& end);
// nullopt: it has not failed.
std::optional<Failure> FindFailure(const kube::Pod& pod);

// What a pod means that was told to end and then ended with 64 or 65. A program of the user's finds things gone on its
// way out, as its peers' tensors (docs/programs.md); whatever else is wrong it will find again.
enum class BadInputOnTheWayOut { kIsBelieved, kIsAConsequence };
std::optional<Failure> StrongestFailure(std::span<const kube::Pod* const> pods, BadInputOnTheWayOut bad_input);
// 64 or 65 of a pod that the kubelet restarts for ever: now or before the last restart.
std::optional<Failure> HopelessFailure(std::span<const kube::Pod* const> pods);

// It says only that somebody else had gone away, or that the pod was told to end: whoever was first may say more.
bool IsAConsequence(const Failure& failure);

// Whether it is 77 and its message speaks of certificates, the process's own or a peer's, and not of a store.
bool IsAboutCertificates(const Failure& failure);
bool IsAboutCertificates(const std::string& reason, const std::string& message);

std::optional<Failure> PickStronger(std::optional<Failure> a, std::optional<Failure> b);
// Of a pod that is gone, by what is remembered of it: the `reason` of its failure, which was none of kNever.
Failure FailureOfAGonePod(const std::string& reason);

bool HasEnded(const kube::Pod& pod);  // phase Succeeded or Failed

api::LastError ToLastError(const Failure& failure, const std::string& role);

}  // namespace espalier::ctl::plan
