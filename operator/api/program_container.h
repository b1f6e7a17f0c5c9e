// Program containers: the containers of a role's pod that run the role's program, numbered from 0. Container 0 is named
// after the role. Pods of servers and trainers have `containersPerPod` program containers. If that is 3, a server pod
// has "server", "server-1" and "server-2".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "operator/api/dist_training.h"

namespace espalier::ctl::api {

// Returns the name of program container `number`, which must be below job::kMaxContainersPerPod for servers and
// trainers, and 0 for other roles.
std::string ProgramContainerName(Role role, uint32_t number);
// Returns the number of the role's program container with this name, or nullopt for the name of a sidecar or an init
// container. Does not depend on containersPerPod: "server-2" has number 2 even if server pods have one container.
std::optional<uint32_t> FindContainerNumber(Role role, std::string_view container);

// The init container that fetches a program's script (spec.trainers.program.script), and its volumes. Pods of the
// partitioner and of trainers have it. The partitioner's pods run first and report the script's digest; trainers run
// the script from kScriptFolder.
inline constexpr char kScriptContainer[] = "script";
inline constexpr char kScriptVolume[] = "script";
inline constexpr char kScriptSourceVolume[] = "script-source";  // the ConfigMap, if the script is in one
inline constexpr char kScriptFolder[] = "/etc/espalier/script";
inline constexpr char kScriptSourceFolder[] = "/etc/espalier/script-source";

// Returns how many program containers a pod of the role has.
uint32_t CountProgramContainers(const Spec& spec, Role role);

}  // namespace espalier::ctl::api
