// Converts torch's exceptions to Status.
#pragma once

#include <exception>

#include "services/base/status.h"

namespace espalier::trainer {

// Returns whether memory ran out, in which case a retry may succeed. Torch has no exception type for this error, so the
// message is checked as well.
bool IsOutOfMemory(const std::exception& error);

// Returns ResourceExhausted if memory ran out, otherwise Internal.
Status StatusOfTorch(const std::exception& error);

}  // namespace espalier::trainer
