// The floor of everything that reads at random: how many independent cache lines of an array arrive in a second.
#pragma once

#include <cstdint>
#include <span>

#include "services/benchmarks/stopwatch.h"

namespace espalier::benchmarks {

// Lines a second over all threads, with software prefetching; the best of a few runs.
double RandomLinesPerSecond(std::span<const uint32_t> array, int threads, ClockKind clock);

}  // namespace espalier::benchmarks
