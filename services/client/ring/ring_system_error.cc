#include "services/client/ring/ring_system_error.h"

#include <cerrno>
#include <cstring>

namespace espalier::client {

Status RingSystemError(int error_number, const std::string& doing) {
  const std::string what = doing + ": " + strerror(error_number);
  switch (error_number) {
    case EMFILE: return ResourceExhausted(what + "; raise this process's limit of open files (ulimit -n)");
    case ENFILE: return ResourceExhausted(what + "; raise this host's limit of open files (sysctl fs.file-max)");
    case ENOBUFS:
    case ENOMEM: return ResourceExhausted(what + "; give this host or container more memory");
    default: return Unavailable(what);
  }
}

}  // namespace espalier::client
