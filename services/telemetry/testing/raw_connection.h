// A TCP connection for tests that control the exact bytes sent.
#pragma once

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "services/base/check.h"
#include "services/base/host_port.h"
#include "services/telemetry/listen_socket.h"

namespace espalier::telemetry {

class RawConnection {
 public:
  explicit RawConnection(const std::string& address) {
    const Result<HostPort> at = ParseHostPort(address);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    ESPALIER_CHECK(getaddrinfo(at->host.c_str(), std::to_string(at->port).c_str(), &hints, &found) == 0);
    descriptor_ = socket(found->ai_family, found->ai_socktype, 0);
    const int error = connect(descriptor_, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    ESPALIER_CHECK(error == 0) << "connecting to " << address;
  }
  ~RawConnection() { close(descriptor_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  // Sends the bytes; returns false if the peer has closed the connection.
  bool Send(const std::string& bytes) {
    return send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  // Returns all bytes until the peer closes or resets the connection.
  std::string ReceiveAll() {
    std::string received;
    char buffer[4096];
    for (ssize_t n = recv(descriptor_, buffer, sizeof(buffer), 0); n > 0;
         n = recv(descriptor_, buffer, sizeof(buffer), 0)) {
      received.append(buffer, static_cast<size_t>(n));
    }
    return received;
  }

 private:
  int descriptor_ = -1;
};

inline std::string HttpGet(const std::string& address, const std::string& path) {
  RawConnection connection(address);
  connection.Send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
  return connection.ReceiveAll();
}

}  // namespace espalier::telemetry
