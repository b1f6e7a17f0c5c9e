// Reads the status of a process from its admin port.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::run {

// Returns the response of the process at the admin address ("127.0.0.1:41234") to GET /status. Reads at most 1 MiB and
// blocks for at most 500 ms.
Result<std::string> FetchStatusAt(const std::string& admin_address);

}  // namespace espalier::run
