// How much memory the kernel lets this process have: the smallest limit of its control group and of those above it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace espalier::telemetry {

struct ControlGroupFiles {
  std::string membership = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

// Control groups of version 2, and version 1 where its memory controller is in use. nullopt: there is no limit, or
// nothing says so.
std::optional<uint64_t> MemoryLimitBytes(const ControlGroupFiles& files = {});

}  // namespace espalier::telemetry
