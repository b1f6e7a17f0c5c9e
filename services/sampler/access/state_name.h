// What the tensors of learnable rows' states are called. They lie among those that users name, and nobody else's tensor
// or learnable rows may have such a name: whichever came second would not be made.
#pragma once

#include <string_view>

#include "services/base/status.h"

namespace espalier::sampler {

inline constexpr std::string_view kStateSuffix = ".state";  // after the name of the rows

// InvalidArgument for the name of a state.
Status CheckIsNoState(std::string_view name);

}  // namespace espalier::sampler
