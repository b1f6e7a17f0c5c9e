#include "operator/controller/http_get.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace espalier::ctl::controller {
namespace {

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

Result<SocketAddress> AddressOf(const HttpGetOptions& options) {
  SocketAddress address;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (inet_pton(AF_INET, options.address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(options.port);
    address.length = sizeof(sockaddr_in);
    return address;
  }
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET6, options.address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(options.port);
    address.length = sizeof(sockaddr_in6);
    return address;
  }
  return InvalidArgument("not an IP address");
}

Status WaitFor(const Socket& socket, short events, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.Remaining());
    if (left.count() == 0) return DeadlineExceeded("no answer in time");
    pollfd wait{socket.descriptor(), events, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::min<int64_t>(left.count(), 60'000)));
    if (ready > 0) return Status();
    if (ready < 0 && errno != EINTR) return Unavailable(std::string("poll: ") + std::strerror(errno));
  }
}

Status Connect(const Socket& socket, const SocketAddress& address, Deadline deadline) {
  const auto* const where = reinterpret_cast<const sockaddr*>(&address.storage);
  if (connect(socket.descriptor(), where, address.length) == 0) return Status();
  if (errno != EINPROGRESS) return Unavailable(std::string("connect: ") + std::strerror(errno));
  RETURN_IF_ERROR(WaitFor(socket, POLLOUT, deadline));
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return Unavailable(std::string("connect: ") + std::strerror(error));
  return Status();
}

Status SendAll(const Socket& socket, std::string_view text, Deadline deadline) {
  while (!text.empty()) {
    RETURN_IF_ERROR(WaitFor(socket, POLLOUT, deadline));
    const ssize_t sent = send(socket.descriptor(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      return Unavailable(std::string("send: ") + std::strerror(errno));
    }
  }
  return Status();
}

// Until the peer closes.
Result<std::string> ReceiveAll(const Socket& socket, size_t max_bytes, Deadline deadline) {
  std::string received;
  std::array<char, 4096> buffer;
  while (true) {
    RETURN_IF_ERROR(WaitFor(socket, POLLIN, deadline));
    const ssize_t count = recv(socket.descriptor(), buffer.data(), buffer.size(), 0);
    if (count == 0) return received;
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count < 0) return Unavailable(std::string("recv: ") + std::strerror(errno));
    if (received.size() + static_cast<size_t>(count) > max_bytes)
      return ResourceExhausted("an answer that is too long");
    received.append(buffer.data(), static_cast<size_t>(count));
  }
}

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

Result<std::string> BodyOfAnswer(const std::string& received) {
  const size_t head_end = received.find("\r\n\r\n");
  if (head_end == std::string::npos) return Unavailable("an answer that was cut short");
  const std::string head = LowerCase(received.substr(0, head_end + 2));
  if (head.rfind("http/1.", 0) != 0 || head.size() < 12) return InvalidArgument("no HTTP");
  const std::string code = head.substr(9, 3);
  if (code != "200") return InvalidArgument("an answer other than 200");
  if (head.find("\r\ntransfer-encoding:") != std::string::npos) return InvalidArgument("an encoded answer");
  std::string body = received.substr(head_end + 4);
  if (const size_t at = head.find("\r\ncontent-length:"); at != std::string::npos) {
    const size_t digits = head.find_first_not_of(" \t", at + 17);
    size_t length = 0;
    if (digits == std::string::npos) return InvalidArgument("a Content-Length that is no number");
    if (std::from_chars(head.data() + digits, head.data() + head.size(), length).ec != std::errc()) {
      return InvalidArgument("a Content-Length that is no number");
    }
    if (body.size() < length) return Unavailable("an answer that was cut short");
    body.resize(length);
  }
  return body;
}

Result<std::string> HttpGet(const HttpGetOptions& options, Deadline deadline) {
  ASSIGN_OR_RETURN(const SocketAddress address, AddressOf(options));
  const Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.descriptor() < 0) return Unavailable(std::string("socket: ") + std::strerror(errno));
  RETURN_IF_ERROR(Connect(socket, address, deadline));
  const bool is_v6 = address.storage.ss_family == AF_INET6;
  const std::string host = is_v6 ? "[" + options.address + "]" : options.address;
  RETURN_IF_ERROR(SendAll(
      socket, "GET " + options.path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n", deadline));
  ASSIGN_OR_RETURN(const std::string received, ReceiveAll(socket, options.max_bytes, deadline));
  return BodyOfAnswer(received);
}

}  // namespace espalier::ctl::controller
