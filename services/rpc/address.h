// Parsing and formatting of "host:port", as in flags.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/status.h"

namespace espalier::rpc {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 literal
  uint16_t port = 0;
};

// Parses "127.0.0.1:7000", "[::1]:0" or "localhost:7000". InvalidArgument: the text is not of this form.
Result<HostPort> ParseHostPort(const std::string& address);
std::string ToString(const HostPort& address);  // with brackets around IPv6 literals
// Returns whether `host` is "localhost", ::1 or in 127.0.0.0/8, which only this machine can reach.
bool IsLoopback(const std::string& host);

// Returns the numeric address of the interface through which this machine sends packets to `host`. Unavailable: the
// host name cannot be resolved, or there is no route to the host.
Result<std::string> FindLocalAddress(const std::string& host);

}  // namespace espalier::rpc
