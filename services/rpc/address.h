// "host:port" as people write it in flags.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/status.h"

namespace espalier::rpc {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 literal
  uint16_t port = 0;
};

// "127.0.0.1:7000", "[::1]:0", "localhost:7000". InvalidArgument says what is wrong.
Result<HostPort> ParseHostPort(const std::string& address);
std::string ToString(const HostPort& address);  // brackets around IPv6 literals
// True for 127.0.0.0/8, ::1 and "localhost": reachable from this machine only.
bool IsLoopback(const std::string& host);

// The address of this machine's interface that faces `host`: where packets to it leave. Unavailable: an unknown host.
Result<std::string> LocalAddressFacing(const std::string& host);

}  // namespace espalier::rpc
