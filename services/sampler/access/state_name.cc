#include "services/sampler/access/state_name.h"

#include <string>

namespace espalier::sampler {

Status CheckIsNotState(std::string_view name) {
  if (!name.ends_with(kStateSuffix)) return Status();
  return InvalidArgument("tensor '" + std::string(name) + "': names that end with '" + std::string(kStateSuffix) +
                         "' are reserved for the state of learnable rows");
}

}  // namespace espalier::sampler
