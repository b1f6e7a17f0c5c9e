// Requests for original ids of edges while these are fetched.
#include "services/shard/original_edge_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

class OriginalEdgeIdsTest : public ::testing::Test {
 protected:
  OriginalEdgeIdsTest()
      : partition_(testing::MakeTestPartitions(
            testing::PapersAndAuthors({.num_papers = 60, .num_authors = 30, .seed = 3}), 2, 1, &book_)[1]),
        expected_(partition_.original_edge_ids) {
    partition_.original_edge_ids.clear();
  }

  graph::PartitionBook book_;
  graph::Partition partition_;
  const std::vector<Tensor> expected_;
};

TEST_F(OriginalEdgeIdsTest, CallersDoNotBlockAndFetchOnce) {
  std::promise<void> arrival;
  std::atomic<int> num_fetched{0};
  partition_.load_original_edge_ids =
      [&, arrived = arrival.get_future().share()](const std::stop_token&) -> Result<std::vector<Tensor>> {
    ++num_fetched;
    arrived.wait();
    return expected_;
  };
  OriginalEdgeIds ids(book_, partition_);
  std::vector<StatusCode> answers(2);
  {
    std::vector<std::jthread> askers;
    for (StatusCode& answer : answers) {
      askers.emplace_back([&ids, told = &answer] { *told = ids.Get(EdgeTypeId(0)).status().code(); });
    }
  }
  EXPECT_THAT(answers, ::testing::Each(StatusCode::kUnavailable));
  arrival.set_value();
  Result<Tensor> fetched = ids.Get(EdgeTypeId(0));
  const Deadline deadline = Soon();
  while (!fetched.ok() && !deadline.HasPassed()) {
    std::this_thread::yield();
    fetched = ids.Get(EdgeTypeId(0));
  }
  ASSERT_TRUE(fetched.ok()) << fetched.status().ToString();
  EXPECT_EQ(fetched->bytes(), expected_[0].bytes());
  EXPECT_TRUE(ids.Get(EdgeTypeId(1)).ok());
  EXPECT_EQ(num_fetched.load(), 1);
}

TEST_F(OriginalEdgeIdsTest, UnneededFetchIsStopped) {
  bool was_stopped = false;
  partition_.load_original_edge_ids = [&](const std::stop_token& stop) -> Result<std::vector<Tensor>> {
    const Deadline deadline = Soon();
    while (!stop.stop_requested() && !deadline.HasPassed()) std::this_thread::yield();
    was_stopped = stop.stop_requested();
    return Cancelled("asked to stop");
  };
  {
    OriginalEdgeIds ids(book_, partition_);
    EXPECT_EQ(ids.Get(EdgeTypeId(0)).status().code(), StatusCode::kUnavailable);
  }
  EXPECT_TRUE(was_stopped);
}

}  // namespace
}  // namespace espalier::shard
