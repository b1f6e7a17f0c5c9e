#include "services/benchmarks/random_lines.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace espalier::benchmarks {
namespace {

constexpr uint64_t kReads = 20'000'000;
constexpr uint64_t kPrefetchAhead = 32;  // reads
constexpr int kRuns = 3;

// Returns the i-th of a sequence of scattered positions in [0, size). The position is computed by Fibonacci hashing,
// which is cheap, and does not depend on the values read.
size_t PositionAt(uint64_t i, uint64_t salt, size_t size) {
  const uint64_t mixed = (i + salt) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(((mixed >> 32) * size) >> 32);
}

uint32_t ReadScattered(std::span<const uint32_t> array, uint64_t salt) {
  uint32_t sum = 0;
  for (uint64_t i = 0; i < kReads; ++i) {
    __builtin_prefetch(array.data() + PositionAt(i + kPrefetchAhead, salt, array.size()));
    sum += array[PositionAt(i, salt, array.size())];
  }
  return sum;
}

}  // namespace

double RandomCacheLinesPerSecond(std::span<const uint32_t> array, int threads, ClockKind clock) {
  std::atomic<uint32_t> sink{0};  // prevents the compiler from removing the reads
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::atomic<double> thread_seconds{0};
    {
      std::vector<std::jthread> readers;
      for (int t = 0; t < threads; ++t) {
        readers.emplace_back([&, t] {
          const Stopwatch watch(clock);
          sink += ReadScattered(array, static_cast<uint64_t>(t + run * 97) << 40);
          thread_seconds += watch.Seconds();
        });
      }
    }
    best = std::max(best, threads * threads * static_cast<double>(kReads) / thread_seconds);
  }
  return best;
}

}  // namespace espalier::benchmarks
