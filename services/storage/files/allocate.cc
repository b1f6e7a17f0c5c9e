#include "services/storage/files/allocate.h"

#include <fcntl.h>

#include <cerrno>

namespace espalier::storage {

int AllocateBlocks(int descriptor, uint64_t size_bytes) {
  if (size_bytes == 0) return 0;
  int error = 0;
  do {
    error = posix_fallocate(descriptor, 0, static_cast<off_t>(size_bytes));
  } while (error == EINTR);
  return error;
}

bool IsOutOfSpace(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

}  // namespace espalier::storage
