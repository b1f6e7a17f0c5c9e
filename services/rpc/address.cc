#include "services/rpc/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>

namespace espalier::rpc {

Result<HostPort> ParseHostPort(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return InvalidArgument("address '" + address + "': expected host:port");
  }
  HostPort parsed;
  parsed.host = address.substr(0, colon);
  if (parsed.host.front() == '[' && parsed.host.back() == ']') {
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  } else if (parsed.host.find(':') != std::string::npos) {
    return InvalidArgument("address '" + address + "': an IPv6 host stands in brackets, as in [::1]:7000");
  }
  const char* begin = address.data() + colon + 1;
  const char* end = address.data() + address.size();
  const auto [stop, error] = std::from_chars(begin, end, parsed.port);
  if (error != std::errc() || stop != end || begin == end) {
    return InvalidArgument("address '" + address + "': the port is a number from 0 to 65535");
  }
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

}  // namespace espalier::rpc
