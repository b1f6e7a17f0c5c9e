// Allocation of disk space for a file before it is written.
#pragma once

#include <cstdint>

namespace espalier::storage {

// Extends the open file to at least `size_bytes` and allocates its blocks, so that writing to its mapping cannot fail
// because the disk is full. Returns 0 or an errno.
int AllocateBlocks(int descriptor, uint64_t size_bytes);

// Returns whether the errno `error` means that there is no space: the disk is full, or a quota or file size limit is
// reached.
bool IsOutOfSpace(int error);

}  // namespace espalier::storage
