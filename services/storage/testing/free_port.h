// For services of tests that listen on a port that is given to them, and do not report one that they chose.
#pragma once

#include <cstdint>

#include "services/base/status.h"

namespace espalier::storage {

// Returns a port of 127.0.0.1 on which no process listens now. Another process may take it before the caller's service
// does: start the service again with another one then.
Result<uint16_t> FreePort();

}  // namespace espalier::storage
