#include "services/telemetry/listen_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "services/base/host_port.h"

namespace espalier::telemetry {
namespace {

constexpr char kAnyAddress[] = "::";

struct FreeAddressList {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

Result<std::string> GetBoundAddress(int descriptor) {
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return FromErrno(errno, "reading the bound address");
  }
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const int error = getnameinfo(reinterpret_cast<sockaddr*>(&bound), length, host, sizeof(host), port, sizeof(port),
                                NI_NUMERICHOST | NI_NUMERICSERV);
  if (error != 0) return Unavailable(std::string("reading the bound address: ") + gai_strerror(error));
  const std::string name = host;
  return (bound.ss_family == AF_INET6 ? "[" + name + "]" : name) + ":" + port;
}

}  // namespace

Result<ListenSocket> ListenOn(const std::string& address) {
  ASSIGN_OR_RETURN(const HostPort at, ParseHostPort(address));
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &hints, &found);
  if (error != 0) return InvalidArgument("address '" + address + "': " + gai_strerror(error));
  const std::unique_ptr<addrinfo, FreeAddressList> list(found);

  const int descriptor = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) {
    const int cause = errno;
    if (cause == EAFNOSUPPORT && at.host == kAnyAddress) return ListenOn("0.0.0.0:" + std::to_string(at.port));
    return FromErrno(cause, "making a socket for " + address);
  }
  const int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const int no = 0;  // the kernel's default may differ (net.ipv6.bindv6only)
  if (at.host == kAnyAddress) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  Status status;
  if (bind(descriptor, found->ai_addr, found->ai_addrlen) != 0 || listen(descriptor, 64) != 0) {
    status = FromErrno(errno, "listening on " + address);
  }
  if (status.ok()) {
    Result<std::string> bound = GetBoundAddress(descriptor);
    if (bound.ok()) return ListenSocket{descriptor, *std::move(bound)};
    status = bound.status();
  }
  close(descriptor);
  return status;
}

}  // namespace espalier::telemetry
