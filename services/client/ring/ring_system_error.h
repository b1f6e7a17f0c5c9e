// Errors of system calls of the ring.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::client {

// ResourceExhausted with the remedy if the process or the host has no descriptors or no memory left; otherwise
// Unavailable.
Status RingSystemError(int error_number, const std::string& doing);

}  // namespace espalier::client
