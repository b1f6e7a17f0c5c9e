// A Connection's host and proxy in the words that cpprestsdk understands.
#pragma once

#include <string>

#include "operator/client/connection.h"

namespace espalier::ctl::client {

struct Endpoint {
  std::string base_uri;      // "https://10.0.0.1:6443"; see BaseUri
  std::string host_header;   // where the library's own would be wrong; else empty
  std::string label;         // "10.0.0.1:6443", for messages
  bool is_loopback = false;  // nothing leaves this machine: never so through a proxy

  // Of the host that is connected to, which is the proxy where there is one: AF_INET, AF_INET6, or AF_UNSPEC for a
  // name.
  int address_family = 0;

  std::string proxy_uri;  // empty: none
  std::string proxy_user;
  telemetry::Secret proxy_password;
};

// InvalidArgument for a host or a proxy that makes no sense; does not repeat the proxy's address, which may hold a
// password.
Result<Endpoint> ParseEndpoint(const Connection& connection);

}  // namespace espalier::ctl::client
