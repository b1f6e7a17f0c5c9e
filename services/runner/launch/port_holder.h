// Finds the process that listens on a TCP port of this machine, for error messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace espalier::launch {

// Returns "process 4711 (python3 serve.py)", or "a process of uid 1001" if this user may not inspect the process.
// `host` is a numeric address, not the wildcard. Returns nullopt if no socket listens on `port` of this address or of
// the wildcard address. Reads /proc: Linux only, and only this network namespace.
std::optional<std::string> FindPortHolder(const std::string& host, uint16_t port);

}  // namespace espalier::launch
