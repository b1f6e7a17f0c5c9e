// A free port for test services that cannot choose a port and report it.
#pragma once

#include <cstdint>

#include "services/base/status.h"

namespace espalier::storage {

// Returns a port of 127.0.0.1 on which no process listens now. Another process may take it before the caller's service
// does; start the service again with another port then.
Result<uint16_t> FreePort();

}  // namespace espalier::storage
