// Files that fit in memory: tokens, certificates, kubeconfigs.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::ctl::client {

// The whole file. NotFound where there is none; InvalidArgument for what is no regular file (reading a pipe could wait
// for ever); ResourceExhausted for more than `max_bytes`. Errors name the path.
Result<std::string> ReadSmallFile(const std::string& path, size_t max_bytes);

}  // namespace espalier::ctl::client
