// The memory limit of this process: the smallest limit of its control group and of the parent groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace espalier::telemetry {

struct ControlGroupFiles {
  std::string membership = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

// Returns the limit in bytes from control groups of version 2, or of version 1 if its memory controller is in use.
// Returns nullopt if there is no limit or it is unknown.
std::optional<uint64_t> MemoryLimitBytes(const ControlGroupFiles& files = {});

}  // namespace espalier::telemetry
