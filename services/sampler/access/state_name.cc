#include "services/sampler/access/state_name.h"

#include <string>

namespace espalier::sampler {

Status CheckIsNoState(std::string_view name) {
  if (!name.ends_with(kStateSuffix)) return Status();
  return InvalidArgument("a tensor '" + std::string(name) + "': names that end with '" + std::string(kStateSuffix) +
                         "' are those of learnable rows' states");
}

}  // namespace espalier::sampler
