#include "services/collective/self_collective.h"

#include "services/base/check.h"

namespace espalier::collective {

Status SelfCollective::Broadcast(std::span<std::byte>, Rank root, Deadline) {
  ESPALIER_CHECK(root.value == 0) << "root " << root.value << " of a group of one";
  return Status();
}

Result<std::vector<std::byte>> SelfCollective::AllGather(std::span<const std::byte> bytes, Deadline) {
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace espalier::collective
