#include "services/sampler/batches/prefetcher.h"

#include <gtest/gtest.h>

#include <memory>

#include "services/base/testing/call_count.h"

namespace espalier::sampler {
namespace {

using Item = std::unique_ptr<int>;  // cannot be copied

// Makes the numbers 1 to `last`, then returns `end`.
class Counter {
 public:
  Counter(int last, Status end) : last_(last), end_(std::move(end)) {}
  CallCount& made() { return made_; }
  Result<std::optional<Item>> operator()(const std::stop_token&) {
    if (made_.value() == last_) {
      RETURN_IF_ERROR(end_);
      return std::optional<Item>();
    }
    made_.Increment();
    return std::optional<Item>(std::make_unique<int>(made_.value()));
  }

 private:
  const int last_;
  const Status end_;
  CallCount made_;
};

Prefetcher<Item>::Options Making(Counter& counter, size_t items_ahead = 2) {
  return {.items_ahead = items_ahead, .make = std::ref(counter)};
}

// Returns the next number; 0 after the last one.
int NextNumber(Prefetcher<Item>& prefetcher) {
  const Result<std::optional<Item>> item = prefetcher.Next(Soon());
  EXPECT_TRUE(item.ok()) << item.status().ToString();
  return item.ok() && item->has_value() ? ***item : 0;
}

TEST(PrefetcherTest, ReturnsItemsInOrderAndThenNone) {
  Counter counter(5, Status());
  Prefetcher<Item> prefetcher(Making(counter));
  prefetcher.Start();
  for (const int expected : {1, 2, 3, 4, 5, 0, 0}) EXPECT_EQ(NextNumber(prefetcher), expected);
}

// Two items are queued, and a third one waits for space in the queue.
TEST(PrefetcherTest, MakesItemsBeforeTheyAreTaken) {
  Counter counter(9, Status());
  Prefetcher<Item> prefetcher(Making(counter));
  prefetcher.Start();
  EXPECT_TRUE(counter.made().Reaches(3));
  EXPECT_EQ(NextNumber(prefetcher), 1);
  EXPECT_TRUE(counter.made().Reaches(4));
}

TEST(PrefetcherTest, PrefetchesOneLargeItem) {
  Counter counter(4, Status());
  auto options = Making(counter);
  options.is_large = [](const Item&) { return true; };
  Prefetcher<Item> prefetcher(std::move(options));
  prefetcher.Start();
  for (int taken = 1; taken <= 4; ++taken) {
    EXPECT_TRUE(counter.made().Reaches(taken));
    EXPECT_EQ(counter.made().value(), taken);
    EXPECT_EQ(NextNumber(prefetcher), taken);
  }
}

TEST(PrefetcherTest, ReturnsAnErrorOnceAfterTheItemsBeforeIt) {
  Counter counter(2, Unavailable("partition 1: connection refused"));
  Prefetcher<Item> prefetcher(Making(counter));
  prefetcher.Start();
  EXPECT_EQ(NextNumber(prefetcher), 1);
  EXPECT_EQ(NextNumber(prefetcher), 2);
  EXPECT_EQ(prefetcher.Next(Soon()).status(), Unavailable("partition 1: connection refused"));
  EXPECT_EQ(NextNumber(prefetcher), 0);
}

// Its `make` blocks until `cancel` is called.
TEST(PrefetcherTest, CancelEndsTheWaitForAnItem) {
  CallCount waits, cancels;
  Prefetcher<Item> prefetcher({.make = [&](const std::stop_token& stop) -> Result<std::optional<Item>> {
                                 waits.Increment();
                                 EXPECT_TRUE(cancels.Reaches(1));
                                 EXPECT_TRUE(stop.stop_requested());
                                 return std::optional<Item>(std::make_unique<int>(1));
                               },
                               .cancel = [&] { cancels.Increment(); }});
  prefetcher.Start();
  EXPECT_TRUE(waits.Reaches(1));
  EXPECT_EQ(prefetcher.Next(Deadline::After(std::chrono::seconds(0))).status(),
            DeadlineExceeded("the next batch was not ready in time"));
  prefetcher.Cancel();
  EXPECT_EQ(prefetcher.Next(Soon()).status(), Cancelled("the epoch was cancelled"));
  prefetcher.Stop();
  EXPECT_EQ(waits.value(), 1);
}

TEST(PrefetcherTest, CancelBeforeStartDoesNothing) {
  CallCount cancels;
  {
    Prefetcher<Item> prefetcher({.make = {}, .cancel = [&] { cancels.Increment(); }});
  }
  EXPECT_EQ(cancels.value(), 0);
}

}  // namespace
}  // namespace espalier::sampler
