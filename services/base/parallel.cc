#include "services/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace espalier {

int AvailableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void ParallelFor(int num_threads, int64_t count, int64_t grain,
                 const std::function<void(int64_t begin, int64_t end)>& body) {
  grain = std::max<int64_t>(grain, 1);
  const int64_t num_ranges = (count + grain - 1) / grain;
  const auto workers = static_cast<int>(std::min<int64_t>(std::max(1, num_threads), num_ranges));
  if (workers <= 1) {
    if (count > 0) body(0, count);
    return;
  }
  std::atomic<int64_t> next_range{0};
  const auto work = [&] {
    for (int64_t range; (range = next_range.fetch_add(1)) < num_ranges;) {
      body(range * grain, std::min(count, (range + 1) * grain));
    }
  };
  std::vector<std::jthread> threads;
  try {
    for (int i = 1; i < workers; ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads available: this thread and the started ones do all the work
  }
  work();
}

}  // namespace espalier
