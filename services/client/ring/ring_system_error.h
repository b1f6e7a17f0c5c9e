// Errors of system calls of the ring.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::client {

// Converts an errno to a status: ResourceExhausted, with the remedy in the message, if the process or the host has no
// descriptors or no memory left, otherwise Unavailable. `doing` is the failed action, such as "binding".
Status RingSystemError(int error_number, const std::string& doing);

}  // namespace espalier::client
