// A parallel search for the lowest index that violates a condition. The result does not depend on the threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "services/base/parallel.h"

namespace espalier::graph {

// Returns the smallest i in [0, count) for which violates(i) is true, or nullopt. `violates` is called from up to
// `threads` threads.
template <class Predicate>
std::optional<int64_t> FirstViolation(int threads, int64_t count, int64_t grain, const Predicate& violates) {
  std::atomic<int64_t> first{count};
  ParallelFor(threads, count, grain, [&](int64_t begin, int64_t end) {
    if (begin >= first.load(std::memory_order_relaxed)) return;
    for (int64_t i = begin; i < end; ++i) {
      if (!violates(i)) continue;
      int64_t seen = first.load();
      while (i < seen && !first.compare_exchange_weak(seen, i)) {
      }
      return;
    }
  });
  const int64_t found = first.load();
  return found < count ? std::optional<int64_t>(found) : std::nullopt;
}

}  // namespace espalier::graph
