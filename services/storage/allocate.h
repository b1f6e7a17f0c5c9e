// Room for a file on disk before it is written.
#pragma once

#include <cstdint>

namespace espalier::storage {

// Every block of the open file, so that writing into its mapping cannot fail for want of room. 0, or the error's
// number.
int AllocateBlocks(int descriptor, uint64_t size_bytes);

// Whether that error says that there is no room, now or by a quota or a limit.
bool MeansFull(int error);

}  // namespace espalier::storage
