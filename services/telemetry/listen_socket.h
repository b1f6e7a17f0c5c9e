// A listening TCP socket for an address as users write it.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::telemetry {

struct HostPort {
  std::string host;  // without brackets
  std::string port;  // 0-65535
};
// "127.0.0.1:80", "[::1]:0", "localhost:9000"; InvalidArgument for anything else.
Result<HostPort> ParseHostPort(const std::string& address);

struct ListenSocket {
  int descriptor = -1;  // non-blocking, close-on-exec; the caller closes it
  std::string address;  // with the port that was picked
};
// "[::]:80" listens on every address of this machine, IPv4 and IPv6, or IPv4 alone where the kernel has no IPv6.
Result<ListenSocket> ListenOn(const std::string& address);

}  // namespace espalier::telemetry
