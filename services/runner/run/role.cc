#include "services/runner/run/role.h"

#include "services/base/parse_number.h"

namespace espalier::run {

const char* ToString(Role role) {
  switch (role) {
    case Role::kPartitioner: return "partitioner";
    case Role::kTrainer: return "trainer";
    case Role::kSampler: return "sampler";
    case Role::kServer: return "server";
  }
  return "";
}

std::string ToString(ChildId child) {
  if (child == ChildId{Role::kPartitioner, 0}) return ToString(child.role);
  return std::string(ToString(child.role)) + "-" + std::to_string(child.index);
}

std::optional<ChildId> ParseChildId(const std::string& name) {
  if (name == ToString(Role::kPartitioner)) return ChildId{};
  for (const Role role : {Role::kPartitioner, Role::kTrainer, Role::kSampler, Role::kServer}) {
    const std::string prefix = std::string(ToString(role)) + "-";
    if (!name.starts_with(prefix)) continue;
    const auto index = ParseNumber<decltype(ChildId::index)>(std::string_view(name).substr(prefix.size()));
    if (index && ToString(ChildId{role, *index}) == name) return ChildId{role, *index};
  }
  return std::nullopt;
}

}  // namespace espalier::run
