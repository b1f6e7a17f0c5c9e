#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier::ctl::client {

// The parts of a URL such as "https://[fd00::1]:6443/k8s/clusters/c-1".
struct ServerUrl {
  bool tls = true;
  std::string host;  // IPv6 without brackets
  uint16_t port = 443;
  std::string path;  // "/k8s/clusters/c-1"; empty for "/"
  friend bool operator==(const ServerUrl&, const ServerUrl&) = default;
};

// Parses the URL of an API server. Returns InvalidArgument for schemes other than http and https, and for URLs with a
// user, a query or a fragment. Error messages do not contain the URL, because it may have a password.
Result<ServerUrl> ParseServerUrl(std::string_view url);

// Parses a decimal port, 1 to 65535.
Result<uint16_t> ParsePort(std::string_view text);

}  // namespace espalier::ctl::client
