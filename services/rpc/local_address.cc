#include "services/rpc/local_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "services/base/descriptor.h"

namespace espalier::rpc {

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
