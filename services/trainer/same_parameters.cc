#include "services/trainer/same_parameters.h"

#include <cstring>
#include <span>
#include <vector>

namespace espalier::trainer {

Status CheckSameParameters(const std::string& digest, collective::Collective& collective, Deadline deadline) {
  ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                   collective.AllGather(std::as_bytes(std::span<const char>(digest.data(), digest.size())), deadline));
  for (uint32_t rank = 0; rank < collective.size(); ++rank) {
    if (std::memcmp(all.data() + rank * digest.size(), digest.data(), digest.size()) != 0) {
      return Internal("trainers " + std::to_string(collective.rank().value) + " and " + std::to_string(rank) +
                      " ended with different parameters: a machine or a library computed wrong results, so the model "
                      "must not be used");
    }
  }
  return Status();
}

}  // namespace espalier::trainer
