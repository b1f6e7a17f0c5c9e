#include "services/runner/run/local_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "services/base/descriptor.h"

namespace espalier::run {
namespace {

// By default, Linux uses the ports above this range for outgoing connections (net.ipv4.ip_local_port_range).
constexpr uint16_t kLowestPort = 20000, kHighestPort = 32767;
constexpr int kTries = 100;

// Sets *storage to the IPv4 or IPv6 socket address and returns its length; 0 if `host` is not a numeric address.
socklen_t SocketAddress(const std::string& host, uint16_t port, sockaddr_storage* storage) {
  auto* v4 = reinterpret_cast<sockaddr_in*>(storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(storage);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    return sizeof(*v4);
  }
  if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) != 1) return 0;
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(port);
  return sizeof(*v6);
}

}  // namespace

bool IsTaken(const std::string& host, uint16_t port) {
  sockaddr_storage storage{};
  const socklen_t bytes = SocketAddress(host, port, &storage);
  const Descriptor socket(bytes == 0 ? -1 : ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return false;
  // Set as servers do, so that sockets in TIME_WAIT do not count.
  const int yes = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const bool is_bound = bind(socket.get(), reinterpret_cast<const sockaddr*>(&storage), bytes) == 0;
  return !is_bound && errno == EADDRINUSE;
}

Result<uint16_t> FindFreePort(const std::string& host) {
  std::random_device device;  // random, so that runs that start at the same time choose different ports
  std::uniform_int_distribution<uint16_t> any(kLowestPort, kHighestPort);
  for (int i = 0; i < kTries; ++i) {
    const uint16_t port = any(device);
    if (!IsTaken(host, port)) return port;
  }
  return Unavailable("tried " + std::to_string(kTries) + " random ports from " + std::to_string(kLowestPort) + " to " +
                     std::to_string(kHighestPort) + " on " + host + ", none is free");
}

}  // namespace espalier::run
