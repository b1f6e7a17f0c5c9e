// Names of the state tensors of learnable rows. They share a name space with the users' tensors, so no other tensor and
// no learnable rows may have such a name: the second of two equal names could not be created.
#pragma once

#include <string_view>

#include "services/base/status.h"

namespace espalier::sampler {

inline constexpr std::string_view kStateSuffix = ".state";  // after the name of the rows

// Returns InvalidArgument if `name` is that of a state.
Status CheckIsNotState(std::string_view name);

}  // namespace espalier::sampler
