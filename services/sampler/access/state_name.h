// Names of the state tensors of learnable rows. They share a name space with the users' tensors. Names of this form are
// therefore reserved: a tensor of the user with such a name would keep the state tensor from being created, or the
// reverse.
#pragma once

#include <string_view>

#include "services/base/status.h"

namespace espalier::sampler {

inline constexpr std::string_view kStateSuffix = ".state";  // appended to the rows' name

// Returns InvalidArgument if `name` ends with kStateSuffix.
Status CheckIsNotState(std::string_view name);

}  // namespace espalier::sampler
