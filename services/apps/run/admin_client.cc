#include "services/apps/run/admin_client.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "services/telemetry/listen_socket.h"

namespace espalier::run {
namespace {

constexpr size_t kMostReplyBytes = size_t{1} << 20;

struct Socket {
  int descriptor = -1;
  ~Socket() {
    if (descriptor >= 0) close(descriptor);
  }
};

bool WaitFor(int descriptor, short events, Deadline deadline) {
  pollfd polled{descriptor, events, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.Remaining());
  return left.count() > 0 && poll(&polled, 1, static_cast<int>(left.count())) == 1;
}

Status Connect(const std::string& address, Deadline deadline, Socket* out) {
  ASSIGN_OR_RETURN(const telemetry::HostPort at, telemetry::ParseHostPort(address));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(at.host.c_str(), at.port.c_str(), &hints, &found) != 0) {
    return InvalidArgument("address '" + address + "' is not numeric");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, freeaddrinfo);
  out->descriptor = socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (out->descriptor < 0) return FromErrno(errno, "making a socket");
  if (connect(out->descriptor, found->ai_addr, found->ai_addrlen) == 0) return {};
  if (errno != EINPROGRESS || !WaitFor(out->descriptor, POLLOUT, deadline))
    return Unavailable("no connection to " + address);
  return {};
}

}  // namespace

Result<std::string> AdminGet(const std::string& address, const std::string& path, Deadline deadline) {
  Socket socket;
  RETURN_IF_ERROR(Connect(address, deadline, &socket));
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\n\r\n";
  if (send(socket.descriptor, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return Unavailable("no connection to " + address);
  }
  std::string received;
  std::array<char, 4096> buffer;
  while (received.size() < kMostReplyBytes) {
    if (!WaitFor(socket.descriptor, POLLIN, deadline)) return DeadlineExceeded("no answer from " + address + path);
    const ssize_t count = recv(socket.descriptor, buffer.data(), buffer.size(), 0);
    if (count < 0) return FromErrno(errno, "reading from " + address);
    if (count == 0) break;
    received.append(buffer.data(), static_cast<size_t>(count));
  }
  const size_t head_end = received.find("\r\n\r\n");
  if (head_end == std::string::npos || !received.starts_with("HTTP/1.1 200 ")) {
    return Unavailable(address + path + " answered " + received.substr(0, received.find("\r\n")));
  }
  return received.substr(head_end + 4);
}

}  // namespace espalier::run
