// Parallel loops. Results must not depend on the number of threads, so each index writes to an output of its own.
#pragma once

#include <cstdint>
#include <functional>

namespace espalier {

// Returns the number of processors that this process may use, at least 1: the size of its affinity mask. The mask
// reflects the cpuset of the process's cgroup, but not a limit of processor time. Without a mask, returns
// std::thread::hardware_concurrency().
int AvailableProcessors();

// A grain for work of a few nanoseconds per element, large enough to make the cost of assigning a range negligible.
inline constexpr int64_t kCheapGrain = int64_t{1} << 16;

// Calls body(begin, end) on disjoint ranges that cover [0, count), from up to num_threads threads, and returns when all
// calls have returned. Every range except the last has at least `grain` indices. The order of the calls is unspecified.
// `body` must not throw.
void ParallelFor(int num_threads, int64_t count, int64_t grain,
                 const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace espalier
