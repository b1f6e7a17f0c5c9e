// The host and proxy of a Connection in the form that cpprestsdk needs.
#pragma once

#include <string>

#include "operator/client/connection.h"

namespace espalier::ctl::client {

struct Endpoint {
  std::string base_uri;      // "https://10.0.0.1:6443"; an IPv6 address has no brackets unless a proxy is used
  std::string host_header;   // set for IPv6 hosts, for which the library writes a wrong Host header; else empty
  std::string label;         // "10.0.0.1:6443", for messages
  bool is_loopback = false;  // requests do not leave this machine; false with a proxy

  // Address family of the proxy if there is one, else of the host: AF_INET, AF_INET6, or AF_UNSPEC for a name.
  int address_family = 0;

  std::string proxy_uri;  // empty: none
  std::string proxy_user;
  telemetry::Secret proxy_password;
};

// Returns the endpoint of the connection. Returns InvalidArgument for an invalid host or proxy, and for port 0. Error
// messages do not contain the proxy's URL, because it may have a password.
Result<Endpoint> ParseEndpoint(const Connection& connection);

}  // namespace espalier::ctl::client
