// Whether a TCP port of this machine is taken, and by whom: for the message about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace espalier::launch {

// Whether somebody else's socket keeps a server from `host` (a numeric address) and `port`: tried by binding one. False
// where binding fails for another reason, which a server will tell.
bool IsTaken(const std::string& host, uint16_t port);

// "process 4711 (python3 serve.py)", or "a process of uid 1001" where it is not ours to look at; nullopt where nobody
// listens on `host` (a numeric address) or on all addresses. As /proc says: Linux, this network namespace.
std::optional<std::string> PortHolder(const std::string& host, uint16_t port);

}  // namespace espalier::launch
