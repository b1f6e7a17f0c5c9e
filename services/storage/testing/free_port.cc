#include "services/storage/testing/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "services/base/descriptor.h"

namespace espalier::storage {

Result<uint16_t> FreePort() {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.is_open()) return FromErrno(errno, "making a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool good = bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
                    getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0;
  if (!good) return FromErrno(errno, "finding a free port");
  return ntohs(address.sin_port);
}

}  // namespace espalier::storage
