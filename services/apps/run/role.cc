#include "services/apps/run/role.h"

namespace espalier::run {

const char* NameOf(Role role) {
  switch (role) {
    case Role::kPartitioner: return "partitioner";
    case Role::kTrainer: return "trainer";
    case Role::kSampler: return "sampler";
    case Role::kServer: return "server";
  }
  return "";
}

std::string NameOf(ChildId child) {
  if (child.role == Role::kPartitioner) return NameOf(child.role);
  return std::string(NameOf(child.role)) + "-" + std::to_string(child.index);
}

}  // namespace espalier::run
