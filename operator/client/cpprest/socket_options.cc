#include "operator/client/cpprest/socket_options.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace espalier::ctl::client {
namespace {

constexpr int kIdleSeconds = 15;
constexpr int kProbeSeconds = 5;
constexpr int kNumProbes = 3;
constexpr int kUserTimeoutMilliseconds = 30000;

}  // namespace

void SetSocketOptions(boost::asio::ip::tcp::socket& socket, int address_family) {
  if (!socket.is_open()) {
    if (address_family == AF_UNSPEC) return;
    boost::system::error_code error;
    socket.open(address_family == AF_INET6 ? boost::asio::ip::tcp::v6() : boost::asio::ip::tcp::v4(), error);
    if (error) return;
  }
  const int descriptor = socket.native_handle();
  const auto set = [descriptor](int level, int name, int value) {
    setsockopt(descriptor, level, name, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kNumProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMilliseconds);
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

}  // namespace espalier::ctl::client
