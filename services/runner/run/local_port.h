// Checks and finds free TCP ports of this machine by binding sockets.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/status.h"

namespace espalier::run {

// Returns whether another socket prevents a server from listening on `port` of `host`, a numeric address. Returns false
// if binding fails for another reason, which the server itself will report.
bool IsTaken(const std::string& host, uint16_t port);

// Returns a random free port of `host`, below the range that the kernel assigns to outgoing connections. The port is
// not reserved: another process may bind it before the caller's process does. Unavailable if 100 random ports are all
// in use.
Result<uint16_t> FindFreePort(const std::string& host);

}  // namespace espalier::run
