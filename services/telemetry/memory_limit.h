// The memory limit of this process: the smallest of the limits of its control group and of that group's ancestors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace espalier::telemetry {

// The files of the kernel; tests use others.
struct ControlGroupFiles {
  std::string membership = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

// Returns the limit in bytes from control groups of version 2, or of version 1 if its memory controller is in use.
// Returns nullopt if there is no limit or it cannot be read.
std::optional<uint64_t> MemoryLimitBytes(const ControlGroupFiles& files = {});

}  // namespace espalier::telemetry
