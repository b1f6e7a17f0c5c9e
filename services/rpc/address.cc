#include "services/rpc/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <memory>

#include "services/base/descriptor.h"

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
    if (parsed.host.empty()) return InvalidArgument("address '" + address + "': expected host:port");
  } else if (parsed.host.find(':') != std::string::npos) {
    return InvalidArgument("address '" + address + "': expected brackets around an IPv6 host, as in [::1]:7000");
  }
  const char* begin = address.data() + colon + 1;
  const char* end = address.data() + address.size();
  const auto [stop, error] = std::from_chars(begin, end, parsed.port);
  if (error != std::errc() || stop != end || begin == end) {
    return InvalidArgument("address '" + address + "': expected a port from 0 to 65535");
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

// Connecting a datagram socket selects the local address without sending a packet.
Result<std::string> FindLocalAddress(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), "9", &hints, &found); error != 0) {
    return Unavailable("resolving '" + host + "': " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  for (const addrinfo* candidate = found; candidate != nullptr; candidate = candidate->ai_next) {
    const Descriptor probe(socket(candidate->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!probe.is_open()) continue;
    sockaddr_storage local{};
    socklen_t length = sizeof(local);
    char text[NI_MAXHOST];
    const bool known = connect(probe.get(), candidate->ai_addr, candidate->ai_addrlen) == 0 &&
                       getsockname(probe.get(), reinterpret_cast<sockaddr*>(&local), &length) == 0 &&
                       getnameinfo(reinterpret_cast<const sockaddr*>(&local), length, text, sizeof(text), nullptr, 0,
                                   NI_NUMERICHOST) == 0;
    if (known) return std::string(text);
  }
  return Unavailable("no interface of this machine has a route to '" + host + "'");
}

}  // namespace espalier::rpc
