#include "services/sampler/batches/local_mini_batch_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>

#include "services/base/testing/call_count.h"
#include "services/base/testing/soon.h"
#include "services/sampler/seeds/seed_order.h"
#include "services/sampler/testing/reference_neighbor_source.h"

namespace espalier::sampler {
namespace {

using ::testing::HasSubstr;

// The seeds are nodes 0 to count - 1 in order. Step number `failing` fails. A gate can block all callers.
class ListedSeeds final : public SeedSource {
 public:
  explicit ListedSeeds(uint64_t count) : count_(count) {}

  Result<uint64_t> Count(NodeTypeId, const std::string& split, graph::SplitPartName) override {
    if (split != "all") return NotFound("there is no split '" + split + "'");
    return count_;
  }
  Result<uint64_t> CountOfEdges(EdgeTypeId, const std::string&, graph::SplitPartName) override {
    return Unimplemented("not in this test");
  }
  Result<GlobalBatch> SeedsOfStep(const SeedQuery& query, Deadline) override {
    if (gate != nullptr) gate->wait();
    asked.Increment();
    if (query.step == failing) return Unavailable("partition 3: gone");
    GlobalBatch batch;
    const PositionRange range = PositionsOfStep(count_, query.batch_size, query.step);
    for (uint64_t i = range.first; i < range.last; ++i) batch.seeds.push_back(GlobalNodeId(i));
    return batch;
  }
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId, std::span<const OriginalNodeId>, Deadline) override {
    return Unimplemented("not in this test");
  }

  std::atomic<uint32_t> failing = ~0u;
  CallCount asked;
  std::latch* gate = nullptr;

 private:
  const uint64_t count_;
};

class LocalMiniBatchSourceTest : public ::testing::Test {
 protected:
  std::unique_ptr<LocalMiniBatchSource> Make(LocalSamplingOptions options) {
    return std::make_unique<LocalMiniBatchSource>(
        neighbors, seeds, SamplingSpec{.layers = {{{2}}}},
        EpochPlan{.seed_type = NodeTypeId(0), .split = "all", .batch_size = 3}, options);
  }

  testing::ReferenceNeighborSource neighbors{testing::HomogeneousSchema(), {20}, {{{0, 1}, {5, 1}, {3, 19}}}};
  ListedSeeds seeds{20};  // 7 steps
};

TEST_F(LocalMiniBatchSourceTest, DeliversInStepOrderAndEnds) {
  for (const int threads : {1, 4}) {
    const auto source = Make({.threads = threads, .depth = 3});
    ASSERT_TRUE(source->StartEpoch(5, 0).ok());
    for (uint32_t step = 0; step < 7; ++step) {
      const Result<MiniBatch> batch = source->Next(Soon());
      ASSERT_TRUE(batch.ok()) << batch.status().ToString();
      EXPECT_EQ(batch->epoch, 5u);
      EXPECT_EQ(batch->step, step);
      EXPECT_EQ(batch->nodes[0][0], GlobalNodeId(3 * step));
      EXPECT_EQ(batch->num_seeds, step < 6 ? 3u : 2u);
    }
    EXPECT_EQ(source->Next(Soon()).status().code(), StatusCode::kOutOfRange);
    EXPECT_EQ(source->Next(Soon()).status().code(), StatusCode::kOutOfRange);
  }
}

TEST_F(LocalMiniBatchSourceTest, StartsAgainInTheMiddle) {
  const auto source = Make({.threads = 3, .depth = 4});
  ASSERT_TRUE(source->StartEpoch(0, 0).ok());
  ASSERT_TRUE(source->Next(Soon()).ok());
  ASSERT_TRUE(source->StartEpoch(1, 5).ok());
  const Result<MiniBatch> batch = source->Next(Soon());
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch->epoch, 1u);
  EXPECT_EQ(batch->step, 5u);
  ASSERT_TRUE(source->StartEpoch(2, 7).ok()) << "past the end is an epoch without steps";
  EXPECT_EQ(source->Next(Soon()).status().code(), StatusCode::kOutOfRange);
}

TEST_F(LocalMiniBatchSourceTest, ErrorIsReturnedInOrder) {
  seeds.failing = 2;
  const auto source = Make({.threads = 3, .depth = 7});
  ASSERT_TRUE(source->StartEpoch(0, 0).ok());
  EXPECT_TRUE(source->Next(Soon()).ok());
  EXPECT_TRUE(source->Next(Soon()).ok());
  const Status error = source->Next(Soon()).status();
  EXPECT_EQ(error, Unavailable("preparing epoch 0 step 2: partition 3: gone"));
  EXPECT_EQ(source->Next(Soon()).status(), error) << "no step is skipped";
  seeds.failing = ~0u;
  ASSERT_TRUE(source->StartEpoch(0, 2).ok());
  const Result<MiniBatch> batch = source->Next(Soon());
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->step, 2u);
}

TEST_F(LocalMiniBatchSourceTest, WaitEndsAtDeadlineAndBatchArrivesLater) {
  std::latch gate(1);
  seeds.gate = &gate;
  const auto source = Make({.threads = 2});
  ASSERT_TRUE(source->StartEpoch(0, 0).ok());
  EXPECT_EQ(source->Next(Deadline::After(std::chrono::milliseconds(1))).status().code(), StatusCode::kDeadlineExceeded);
  gate.count_down();
  EXPECT_TRUE(source->Next(Soon()).ok());
}

TEST_F(LocalMiniBatchSourceTest, CancelEndsWait) {
  std::latch gate(1);
  seeds.gate = &gate;
  const auto source = Make({.threads = 2});
  ASSERT_TRUE(source->StartEpoch(0, 0).ok());
  auto waiting = std::async(std::launch::async, [&] { return source->Next(Deadline::After(std::chrono::hours(1))); });
  source->Cancel();
  EXPECT_EQ(waiting.get().status(), Cancelled("epoch 0 was cancelled"));
  gate.count_down();
  ASSERT_TRUE(source->StartEpoch(1, 0).ok());
  EXPECT_TRUE(source->Next(Soon()).ok());
}

TEST_F(LocalMiniBatchSourceTest, PrefetchesAtMostDepth) {
  const auto source = Make({.threads = 3, .depth = 2});
  ASSERT_TRUE(source->StartEpoch(0, 0).ok());
  ASSERT_TRUE(source->Next(Soon()).ok());
  ASSERT_TRUE(source->Next(Soon()).ok());
  EXPECT_LE(seeds.asked.value(), 4) << "2 delivered and at most 2 ahead";
}

TEST_F(LocalMiniBatchSourceTest, PrefetchesUpToDepthBeforeFirstRead) {
  const auto source = Make({.threads = 1, .depth = 3});
  ASSERT_TRUE(source->StartEpoch(0, 0).ok());
  EXPECT_TRUE(seeds.asked.Reaches(3));
  ASSERT_TRUE(source->Next(Soon()).ok());
  EXPECT_TRUE(seeds.asked.Reaches(4)) << "what is taken makes room for another";
}

TEST_F(LocalMiniBatchSourceTest, CanBeDestroyedWhilePrefetching) {
  for (int i = 0; i < 20; ++i) {
    const auto source = Make({.threads = 3, .depth = 7});
    ASSERT_TRUE(source->StartEpoch(0, 0).ok());
  }
}

TEST_F(LocalMiniBatchSourceTest, RefusesPlansThatDoNotFit) {
  EXPECT_EQ(Make({})->Next(Soon()).status().code(), StatusCode::kFailedPrecondition);
  const auto start = [&](SamplingSpec spec, EpochPlan plan) {
    return LocalMiniBatchSource(neighbors, seeds, std::move(spec), std::move(plan), {}).StartEpoch(0, 0);
  };
  const SamplingSpec spec{.layers = {{{2}}}};
  EXPECT_EQ(start(spec, {.split = "public", .batch_size = 1}).code(), StatusCode::kNotFound);
  EXPECT_THAT(start(spec, {.split = "all"}).message(), HasSubstr("batch size"));
  EXPECT_THAT(start(spec, {.split = "all", .batch_size = 1, .rank = Rank(1)}).message(),
              HasSubstr("rank 1 is out of range [0, 1)"));
  EXPECT_THAT(start({.layers = {{{2, 2}}}}, {.split = "all", .batch_size = 1}).message(), HasSubstr("2 fan-outs"));
}

}  // namespace
}  // namespace espalier::sampler
