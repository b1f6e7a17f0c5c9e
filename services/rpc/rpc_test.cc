// Status mapping, deadlines and the worker pool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "services/rpc/deadline.h"
#include "services/rpc/status_map.h"
#include "services/rpc/worker_pool.h"

namespace espalier::rpc {
namespace {

TEST(StatusMapTest, KeepsCodeAndMessage) {
  EXPECT_EQ(FromGrpc(ToGrpc(NotFound("no column 'x'"))), NotFound("no column 'x'"));
  EXPECT_TRUE(ToGrpc(Status()).ok());
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

TEST(StatusMapTest, CutsMessagesThatPeersWouldRefuse) {
  EXPECT_EQ(ToGrpc(Internal(std::string(100'000, 'x'))).error_message().size(), kMaxStatusMessageBytes);
}

TEST(DeadlineTest, ConvertsBetweenClocks) {
  const Deadline there = FromSystemTime(ToSystemTime(Deadline::After(std::chrono::seconds(100))));
  EXPECT_LE(there.Remaining(), std::chrono::seconds(101));
  EXPECT_GT(there.Remaining(), std::chrono::seconds(50));
}

TEST(DeadlineTest, TreatsNoDeadlineAsYear) {
  const Deadline none = FromSystemTime(std::chrono::system_clock::time_point::max());
  EXPECT_GT(none.Remaining(), kMaxTimeUntilDeadline - std::chrono::hours(1));
  EXPECT_LE(none.Remaining(), kMaxTimeUntilDeadline);
}

TEST(WorkerPoolTest, RunsAllAcceptedTasks) {
  std::atomic<int> ran = 0;
  {
    WorkerPool pool(3, 1000);
    for (int i = 0; i < 500; ++i) ASSERT_TRUE(pool.TrySubmit([&] { ++ran; }));
  }
  EXPECT_EQ(ran, 500);
}

TEST(WorkerPoolTest, RefusesWhenTheQueueIsFull) {
  std::latch started(1), should_continue(1);
  WorkerPool pool(1, 2);
  ASSERT_TRUE(pool.TrySubmit([&] {
    started.count_down();
    should_continue.wait();
  }));
  started.wait();
  EXPECT_TRUE(pool.TrySubmit([] {}));
  EXPECT_TRUE(pool.TrySubmit([] {}));
  EXPECT_FALSE(pool.TrySubmit([] {}));
  should_continue.count_down();
}

TEST(WorkerPoolTest, RefusesTasksOverByteLimit) {
  std::latch started(1), should_continue(1);
  WorkerPool pool(1, 1000, /*max_waiting_bytes=*/100);
  const auto block = [&] {
    started.count_down();
    should_continue.wait();
  };
  ASSERT_TRUE(pool.TrySubmit(block, 5000)) << "the queue is empty";
  started.wait();
  EXPECT_TRUE(pool.TrySubmit([] {}, 60)) << "what runs does not wait";
  EXPECT_FALSE(pool.TrySubmit([] {}, 41));
  EXPECT_TRUE(pool.TrySubmit([] {}, 40));
  EXPECT_FALSE(pool.TrySubmit([] {}, 1));
  EXPECT_TRUE(pool.TrySubmit([] {}));
  should_continue.count_down();
}

}  // namespace
}  // namespace espalier::rpc
