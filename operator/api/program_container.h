// The containers of a role's pod that run its program: one that is named as the role, and in servers' pods
// (spec.servers.containersPerPod) others beside it: "server", "server-1", "server-2".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "operator/api/dist_training.h"

namespace espalier::ctl::api {

// Of number 0, which every role has, and below job::kMostContainersPerPod.
std::string ProgramContainer(Role role, uint32_t number);
// The other way round; nullopt: a sidecar or an init container, of which nothing is known.
std::optional<uint32_t> NumberOfContainer(Role role, std::string_view container);

// The init container that fetches a program's script (spec.trainers.program.script), and its volumes. Pods of the
// partitioner have it, which give the script's digest first, and those of trainers, whose program runs the script from
// kScriptFolder.
inline constexpr char kScriptContainer[] = "script";
inline constexpr char kScriptVolume[] = "script";
inline constexpr char kScriptSourceVolume[] = "script-source";  // a ConfigMap's
inline constexpr char kScriptFolder[] = "/etc/espalier/script";
inline constexpr char kScriptSourceFolder[] = "/etc/espalier/script-source";

// In a pod of the role.
uint32_t CountProgramContainers(const Spec& spec, Role role);

}  // namespace espalier::ctl::api
