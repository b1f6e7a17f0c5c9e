#include "operator/api/program_container.h"

namespace espalier::ctl::api {

std::string ProgramContainerName(Role role, uint32_t number) {
  return number == 0 ? ToString(role) : std::string(ToString(role)) + "-" + std::to_string(number);
}

std::optional<uint32_t> FindContainerNumber(Role role, std::string_view container) {
  const uint32_t most = role == Role::kServer || role == Role::kTrainer ? job::kMaxContainersPerPod : 1;
  for (uint32_t number = 0; number < most; ++number) {
    if (container == ProgramContainerName(role, number)) return number;
  }
  return std::nullopt;
}

uint32_t CountProgramContainers(const Spec& spec, Role role) {
  switch (role) {
    case Role::kServer: return spec.job.server_containers_per_pod;
    case Role::kTrainer: return spec.job.trainer_containers_per_pod;
    case Role::kPartitioner:
    case Role::kSampler: return 1;
  }
  return 1;
}

}  // namespace espalier::ctl::api
