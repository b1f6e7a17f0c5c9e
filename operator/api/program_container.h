// The containers of a role's pod that run its program: one that is named after the role, and in server pods
// (spec.servers.containersPerPod) more of them: "server", "server-1", "server-2".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "operator/api/dist_training.h"

namespace espalier::ctl::api {

// Returns the name of program container `number`. Every role has number 0; servers have numbers below
// job::kMaxContainersPerPod.
std::string ProgramContainer(Role role, uint32_t number);
// Returns the number of the program container with this name; nullopt for a sidecar or an init container.
std::optional<uint32_t> NumberOfContainer(Role role, std::string_view container);

// The init container that fetches a program's script (spec.trainers.program.script), and its volumes. It is in the pods
// of the partitioner, which report the script's digest first, and in those of trainers, whose program runs the script
// from kScriptFolder.
inline constexpr char kScriptContainer[] = "script";
inline constexpr char kScriptVolume[] = "script";
inline constexpr char kScriptSourceVolume[] = "script-source";  // of the ConfigMap
inline constexpr char kScriptFolder[] = "/etc/espalier/script";
inline constexpr char kScriptSourceFolder[] = "/etc/espalier/script-source";

// Returns the number of program containers in a pod of the role.
uint32_t CountProgramContainers(const Spec& spec, Role role);

}  // namespace espalier::ctl::api
