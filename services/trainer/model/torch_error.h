// Converts torch's exceptions to Status.
#pragma once

#include <exception>

#include "services/base/status.h"

namespace espalier::trainer {

// Returns whether memory ran out, in which case a retry may succeed. Torch does not have an exception type for this
// error on every device, so the message is checked as well.
bool IsOutOfMemory(const std::exception& error);

// Converts an exception of torch: ResourceExhausted if memory ran out, otherwise Internal.
Status FromTorchError(const std::exception& error);

}  // namespace espalier::trainer
