#include "services/base/host_port.h"

#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "services/base/parse_number.h"

namespace espalier {

Result<HostPort> ParseHostPort(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return InvalidArgument("address '" + address + "': expected host:port");
  }
  HostPort parsed;
  parsed.host = address.substr(0, colon);
  if (parsed.host.front() == '[' && parsed.host.back() == ']') {
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
    if (parsed.host.empty()) return InvalidArgument("address '" + address + "': expected host:port");
  } else if (parsed.host.find(':') != std::string::npos) {
    return InvalidArgument("address '" + address + "': expected brackets around an IPv6 host, as in [::1]:7000");
  }
  const auto port = ParseNumber<decltype(parsed.port)>(std::string_view(address).substr(colon + 1));
  if (!port) return InvalidArgument("address '" + address + "': expected a port from 0 to 65535");
  parsed.port = *port;
  return parsed;
}

std::string ToString(const HostPort& address) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace espalier
