// Room in a LocalCache: what lies there, and what goes when more is needed.
#pragma once

#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::storage {

inline constexpr char kPinName[] = ".espalier-pin";

// Gives the open file `descriptor` (`path`, for messages) `size_bytes` on disk, so that no write into it can fail for
// want of room. Evicts entries below the cache's folder that nobody uses until the sum of all files there is within
// max_bytes (0: no limit) and the disk has the room. ResourceExhausted otherwise, with path and sizes.
Status MakeRoom(const std::string& cache_folder, uint64_t max_bytes, int descriptor, const std::string& path,
                uint64_t size_bytes, Deadline deadline);

}  // namespace espalier::storage
