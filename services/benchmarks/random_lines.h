// The rate of random memory reads, the ceiling for operations that read memory at random.
#pragma once

#include <cstdint>
#include <span>

#include "services/benchmarks/stopwatch.h"

namespace espalier::benchmarks {

// Returns how many cache lines of `array` all threads together read per second, at random positions that do not depend
// on the values read, with software prefetching; the best of a few runs.
double RandomCacheLinesPerSecond(std::span<const uint32_t> array, int threads, ClockKind clock);

}  // namespace espalier::benchmarks
