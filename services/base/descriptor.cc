#include "services/base/descriptor.h"

#include <fcntl.h>

#include <cerrno>

namespace espalier {

Result<Pipe> MakePipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, "making a pipe");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace espalier
