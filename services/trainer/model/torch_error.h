// What torch throws, as a status.
#pragma once

#include <exception>

#include "services/base/status.h"

namespace espalier::trainer {

// Whether memory ran out, which is nobody's mistake and may go well another time. Torch has no type of its own for it.
bool IsOutOfMemory(const std::exception& error);

// ResourceExhausted where memory ran out, else Internal.
Status StatusOfTorch(const std::exception& error);

}  // namespace espalier::trainer
