#include "services/base/heap.h"

#include <malloc.h>

#include "services/base/parallel.h"

namespace espalier {

void KeepFreedMemory() {
  constexpr int kMmapThresholdBytes = 32 << 20;  // the largest valid M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, kMmapThresholdBytes);
  mallopt(M_TRIM_THRESHOLD, kMmapThresholdBytes);
}

void ShareArenas() { mallopt(M_ARENA_MAX, AvailableProcessors()); }

}  // namespace espalier
