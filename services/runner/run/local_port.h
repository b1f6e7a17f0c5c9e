// TCP ports of this machine, tried by binding a socket.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/status.h"

namespace espalier::run {

// Whether somebody else's socket keeps a server from `host` (a numeric address) and `port`. False where binding fails
// for another reason, which a server will tell.
bool IsTaken(const std::string& host, uint16_t port);

// Returns a port that no socket of `host` has, below those that the kernel gives to outgoing connections: it stays free
// until a process that is started now listens on it, unless that process's neighbors take it first. Unavailable: none
// of many that were tried is free.
Result<uint16_t> FindFreePort(const std::string& host);

}  // namespace espalier::run
