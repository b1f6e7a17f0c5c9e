#include "operator/api/program_container.h"

namespace espalier::ctl::api {

std::string ProgramContainer(Role role, uint32_t number) {
  return number == 0 ? ToString(role) : std::string(ToString(role)) + "-" + std::to_string(number);
}

std::optional<uint32_t> NumberOfContainer(Role role, std::string_view container) {
  const uint32_t most = role == Role::kServer ? job::kMaxContainersPerPod : 1;
  for (uint32_t number = 0; number < most; ++number) {
    if (container == ProgramContainer(role, number)) return number;
  }
  return std::nullopt;
}

uint32_t CountProgramContainers(const Spec& spec, Role role) {
  return role == Role::kServer ? spec.job.server_containers_per_pod : 1;
}

}  // namespace espalier::ctl::api
