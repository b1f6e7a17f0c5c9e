// A listening TCP socket for an address in a flag.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::telemetry {

struct HostPort {
  std::string host;  // without brackets
  std::string port;  // 0-65535
};
// Parses "127.0.0.1:80", "[::1]:0" or "localhost:9000". InvalidArgument for other text.
Result<HostPort> ParseHostPort(const std::string& address);

struct ListenSocket {
  int descriptor = -1;  // non-blocking, close-on-exec; the caller closes it
  std::string address;  // with the bound port
};
// Listens on an address. "[::]:80" is all addresses of this machine, IPv4 and IPv6, or only IPv4 if the kernel does not
// support IPv6. InvalidArgument for an invalid address; Unavailable if the address cannot be bound.
Result<ListenSocket> ListenOn(const std::string& address);

}  // namespace espalier::telemetry
