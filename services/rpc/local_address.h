// The address at which other machines reach this one.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::rpc {

// Returns the numeric address of the interface through which this machine sends packets to `host`. Unavailable: the
// host name cannot be resolved, or there is no route to the host.
Result<std::string> FindLocalAddress(const std::string& host);

}  // namespace espalier::rpc
