#include "services/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "services/base/testing/no_more_threads.h"

namespace espalier {
namespace {

TEST(ParallelForTest, VisitsEveryIndexOnceForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> visits(1000);
    ParallelFor(threads, 1000, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
    });
    for (const auto& count : visits) EXPECT_EQ(count.load(), 1);
  }
}

TEST(ParallelForTest, CompletesWithAvailableThreads) {
  const NoMoreThreads none;
  int64_t visited = 0;
  ParallelFor(4, 1000, 64, [&](int64_t begin, int64_t end) { visited += end - begin; });
  EXPECT_EQ(visited, 1000);
}

TEST(ParallelForTest, DoesNothingForEmptyRange) {
  ParallelFor(4, 0, 1, [](int64_t, int64_t) { FAIL(); });
}

}  // namespace
}  // namespace espalier
