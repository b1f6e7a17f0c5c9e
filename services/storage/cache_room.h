// Space management of a LocalCache: its size and the eviction of entries.
#pragma once

#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::storage {

inline constexpr char kPinName[] = ".espalier-pin";

// Allocates `size_bytes` on disk for the open file `descriptor` (`path` is for messages), so that no write to it fails
// because the disk is full. Evicts unused entries of the cache until all its files together are within max_bytes (0: no
// limit) and the disk has enough space. Otherwise returns ResourceExhausted with the path and the sizes.
Status MakeRoom(const std::string& cache_folder, uint64_t max_bytes, int descriptor, const std::string& path,
                uint64_t size_bytes, Deadline deadline);

}  // namespace espalier::storage
