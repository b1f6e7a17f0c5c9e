#include "services/telemetry/memory_limit.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace espalier::telemetry {
namespace {

// Control groups of version 1 represent "no limit" by a number near 2^63.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

// Returns the group named by the line of /proc/self/cgroup that contains `marker`, or "/" if no line does. A line is
// id:controllers:group: "0::/kubepods/pod7" for version 2, "4:memory:/kubepods/pod7" for version 1. In a container with
// its own cgroup namespace the group is "/".
std::string ParseGroup(const std::string& membership_path, const std::string& marker) {
  std::ifstream membership(membership_path);
  for (std::string line; std::getline(membership, line);) {
    const size_t at = line.find(marker);
    if (at != std::string::npos) return line.substr(at + marker.size());
  }
  return "/";
}

std::optional<uint64_t> ReadLimit(const std::filesystem::path& file_path) {
  std::ifstream file(file_path);
  uint64_t bytes = 0;
  if (!(file >> bytes) || bytes >= kNoLimit) return std::nullopt;  // "max" is not a number
  return bytes;
}

void KeepSmaller(std::optional<uint64_t> limit, std::optional<uint64_t>* smallest) {
  if (limit.has_value()) *smallest = std::min(*limit, smallest->value_or(*limit));
}

// Returns the smallest limit of the group and its ancestors, including the root: a container sees its own group as the
// root even if the membership file contains another path.
std::optional<uint64_t> FindSmallestLimit(const std::filesystem::path& root, const std::string& group,
                                          const char* file) {
  std::optional<uint64_t> smallest = ReadLimit(root / file);
  std::filesystem::path folder = root;
  for (const std::filesystem::path& part : std::filesystem::path(group).relative_path()) {
    folder /= part;
    KeepSmaller(ReadLimit(folder / file), &smallest);
  }
  return smallest;
}

}  // namespace

std::optional<uint64_t> MemoryLimitBytes(const ControlGroupFiles& files) {
  const std::filesystem::path root(files.root);
  std::optional<uint64_t> smallest = FindSmallestLimit(root, ParseGroup(files.membership, "0::"), "memory.max");
  KeepSmaller(FindSmallestLimit(root / "memory", ParseGroup(files.membership, ":memory:"), "memory.limit_in_bytes"),
              &smallest);
  return smallest;
}

}  // namespace espalier::telemetry
