// By whom a TCP port of this machine is taken: for the message about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace espalier::launch {

// "process 4711 (python3 serve.py)", or "a process of uid 1001" where it is not ours to look at; nullopt where nobody
// listens on `host` (a numeric address) or on all addresses. As /proc says: Linux, this network namespace.
std::optional<std::string> PortHolder(const std::string& host, uint16_t port);

}  // namespace espalier::launch
