// A listening TCP socket for an address given by a flag.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::telemetry {

struct ListenSocket {
  int descriptor = -1;  // non-blocking, close-on-exec; the caller closes it
  std::string address;  // with the bound port
};
// Listens on an address. "[::]:80" is all addresses of this machine, IPv4 and IPv6, or only IPv4 if the kernel does not
// support IPv6. InvalidArgument for an invalid address; otherwise the error of FromErrno, such as Unavailable for an
// address in use and PermissionDenied for a reserved port.
Result<ListenSocket> ListenOn(const std::string& address);

}  // namespace espalier::telemetry
