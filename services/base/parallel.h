// Loops over threads. Results must not depend on the number of threads: give each index its own output.
#pragma once

#include <cstdint>
#include <functional>

namespace espalier {

// The number of processors this process may use (affinity and cgroup included where the kernel tells), at least 1.
int AvailableProcessors();

// A grain for work of a few nanoseconds an element: handing out a range costs little beside it.
inline constexpr int64_t kCheapGrain = int64_t{1} << 16;

// Calls body(begin, end) on disjoint ranges that cover [0, count), from up to num_threads threads, and returns
// when all have returned. Ranges are contiguous, at least `grain` long (but the last), in no promised order.
void ParallelFor(int num_threads, int64_t count, int64_t grain,
                 const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace espalier
