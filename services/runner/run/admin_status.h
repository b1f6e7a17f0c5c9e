#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::run {

// What the process with that admin address ("127.0.0.1:41234") answers to GET /status: at most 1 MiB, within 500 ms.
Result<std::string> StatusAt(const std::string& admin_address);

}  // namespace espalier::run
