// Roles and names of the processes of a run.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace espalier::run {

// Declared in the order in which the processes are stopped: clients before the servers that they call.
enum class Role { kPartitioner, kTrainer, kSampler, kServer };
const char* ToString(Role role);  // "partitioner", "trainer", "sampler", "server"

// Identifies a process of a run. Children of a role are numbered from 0. The index of a trainer or partitioner is its
// rank; that of a server determines its partition (server_numbering.h).
struct ChildId {
  Role role = Role::kPartitioner;
  uint32_t index = 0;
  friend auto operator<=>(const ChildId&, const ChildId&) = default;
};
// Returns the child's name, such as "server-1". Partitioner 0, which is usually the only one, is "partitioner", the
// next one "partitioner-1".
std::string ToString(ChildId child);
// Returns the child with this name; nullopt if the name is not that of a child.
std::optional<ChildId> ParseChildId(const std::string& name);

}  // namespace espalier::run
