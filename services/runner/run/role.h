// Who is who among the processes of a run.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace espalier::run {

// In the order in which they are stopped: whoever asks before whoever answers.
enum class Role { kPartitioner, kTrainer, kSampler, kServer };
const char* ToString(Role role);  // "partitioner", "trainer", "sampler", "server"

// Children of a role are numbered from 0: trainer 1 and partitioner 1 have rank 1, server_numbering.h says what a
// server serves.
struct ChildId {
  Role role = Role::kPartitioner;
  uint32_t index = 0;
  friend auto operator<=>(const ChildId&, const ChildId&) = default;
};
// "server-1"; "partitioner" of rank 0, which is most often the only one, then "partitioner-1".
std::string ToString(ChildId child);
// The other way round; nullopt for what is nobody's name.
std::optional<ChildId> ChildOfName(const std::string& name);

}  // namespace espalier::run
