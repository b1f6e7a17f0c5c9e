// The deadline of a wait that ends at once unless something is broken.
#pragma once

#include "services/base/clock.h"

namespace espalier {

inline Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

}  // namespace espalier
