// Disk space of a LocalCache: allocation for a file, and eviction of entries.
#pragma once

#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::storage {

// The file that marks a folder as an entry. Users of an entry hold a shared lock on this file; eviction takes an
// exclusive one.
inline constexpr char kPinName[] = ".espalier-pin";

// Extends the open file `descriptor` to at least `size_bytes` and allocates its blocks, so that no write within this
// size fails because the disk is full. `path` is for messages. Evicts entries that are not in use, least recently used
// first, until all files of the cache together are within max_bytes (0: no limit) and the disk has enough space.
// Returns ResourceExhausted with the path and the sizes if no entry is left to evict. Holds an exclusive lock on the
// cache; DeadlineExceeded if it cannot acquire the lock by `deadline`.
Status MakeRoom(const std::string& cache_folder, uint64_t max_bytes, int descriptor, const std::string& path,
                uint64_t size_bytes, Deadline deadline);

}  // namespace espalier::storage
