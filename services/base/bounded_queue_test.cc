#include "services/base/bounded_queue.h"

#include <gtest/gtest.h>

#include <thread>

namespace espalier {
namespace {

TEST(BoundedQueueTest, PassesItemsInOrderThroughSmallQueue) {
  BoundedQueue<int> queue(2);
  std::jthread producer([&] {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(queue.Push(i));
    queue.Close();
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_LE(queue.Size(), 2u);
    EXPECT_EQ(queue.Pop(), i);
  }
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, CloseWakesProducerAndDrainsQueue) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.Push(1));
  bool pushed = true;
  {
    std::jthread producer([&] { pushed = queue.Push(2); });
    queue.Close();
  }
  EXPECT_FALSE(pushed);
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, WaitsUntilEmpty) {
  BoundedQueue<int> queue(2);
  queue.AwaitEmpty();
  ASSERT_TRUE(queue.Push(1));
  ASSERT_TRUE(queue.Push(2));
  size_t left = 2;
  {
    std::jthread producer([&] {
      queue.AwaitEmpty();
      left = queue.Size();
    });
    EXPECT_EQ(queue.Pop(), 1);
    EXPECT_EQ(queue.Pop(), 2);
  }
  EXPECT_EQ(left, 0u);
  ASSERT_TRUE(queue.Push(3));
  queue.Close();
  queue.AwaitEmpty();
}

TEST(BoundedQueueTest, AWaitEndsAtItsDeadline) {
  BoundedQueue<int> queue(1);
  EXPECT_EQ(queue.PopBefore(Deadline::After(std::chrono::milliseconds(1))), std::nullopt);
  EXPECT_FALSE(queue.IsClosed());
}

}  // namespace
}  // namespace espalier
