// Parsing and formatting of "host:port", as in flags.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/status.h"

namespace espalier {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 literal
  uint16_t port = 0;
};

// Parses "127.0.0.1:7000", "[::1]:0" or "localhost:7000". InvalidArgument: the text is not of this form.
Result<HostPort> ParseHostPort(const std::string& address);
std::string ToString(const HostPort& address);  // with brackets around IPv6 literals

// Returns whether `host` is "localhost", ::1 or in 127.0.0.0/8, which only this machine can reach. False for any other
// name, such as "127.evil.example", which may resolve to another machine.
bool IsLoopback(const std::string& host);

}  // namespace espalier
