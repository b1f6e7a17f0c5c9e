// The deadline for waits in tests that end at once unless the code is broken.
#pragma once

#include "services/base/clock.h"

namespace espalier {

inline Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

}  // namespace espalier
