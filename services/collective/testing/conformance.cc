// Each test creates a group with the factory under test and runs one thread per rank (OnEveryRank). The tests cover
// results, reproducibility of bits, the errors after a rank is missing, destroyed or abandons the group, and the
// functions of agreement.h.
#include "services/collective/testing/conformance.h"

#include <atomic>
#include <cstring>
#include <latch>
#include <stop_token>
#include <thread>

#include "services/base/philox.h"
#include "services/base/testing/soon.h"
#include "services/collective/agreement.h"

namespace espalier::collective {

void OnEveryRank(std::vector<std::unique_ptr<Collective>>& ranks, const std::function<void(Collective&)>& body) {
  std::vector<std::thread> threads;
  for (auto& rank : ranks) threads.emplace_back([&] { body(*rank); });
  for (std::thread& thread : threads) thread.join();
}

namespace {

Deadline VerySoon() { return Deadline::After(std::chrono::milliseconds(100)); }

template <class T>
std::vector<T> RandomValues(uint32_t rank, size_t count) {
  PhiloxStream random(17, rank);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random.NextUnitDouble() - 0.5);
  return values;
}

template <class T>
std::vector<std::vector<T>> ComputeSums(const GroupFactory& make_group, uint32_t size, size_t count) {
  std::vector<std::vector<T>> sums(size);
  auto ranks = make_group(size);
  OnEveryRank(ranks, [&](Collective& collective) {
    std::vector<T> values = RandomValues<T>(collective.rank().value, count);
    const Status status = collective.AllReduceSum(std::span<T>(values), Soon());
    EXPECT_TRUE(status.ok()) << status.ToString();
    sums[collective.rank().value] = std::move(values);
  });
  return sums;
}

template <class T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

TEST_P(CollectiveConformanceTest, NumbersItsRanks) {
  auto ranks = GetParam()(3);
  ASSERT_EQ(ranks.size(), 3u);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks[rank]->rank(), Rank(rank));
    EXPECT_EQ(ranks[rank]->size(), 3u);
  }
}

TEST_P(CollectiveConformanceTest, SumsOverRanks) {
  for (const uint32_t size : {1u, 2u, 3u, 5u}) {
    auto ranks = GetParam()(size);
    OnEveryRank(ranks, [&](Collective& collective) {
      const auto rank = static_cast<float>(collective.rank().value);
      std::vector<float> values = {rank, 1, 10 * rank};
      ASSERT_TRUE(collective.AllReduceSum(std::span<float>(values), Soon()).ok());
      const float ranks_sum = static_cast<float>(size * (size - 1)) / 2;
      EXPECT_EQ(values, (std::vector<float>{ranks_sum, static_cast<float>(size), 10 * ranks_sum}));
    });
  }
}

TEST_P(CollectiveConformanceTest, GivesSameBitsOnEveryRankAndInEveryRun) {
  for (const size_t count : {1u, 7u, 100'003u}) {
    const auto first = ComputeSums<float>(GetParam(), 3, count);
    const auto again = ComputeSums<float>(GetParam(), 3, count);
    for (uint32_t rank = 0; rank < 3; ++rank) {
      EXPECT_TRUE(SameBits(first[rank], first[0]));
      EXPECT_TRUE(SameBits(again[rank], first[0]));
    }
  }
  const auto doubles = ComputeSums<double>(GetParam(), 4, 1001);
  EXPECT_TRUE(SameBits(doubles[3], doubles[0]));
}

TEST_P(CollectiveConformanceTest, SumsNothing) {
  auto ranks = GetParam()(2);
  OnEveryRank(ranks, [](Collective& collective) {
    EXPECT_TRUE(collective.AllReduceSum(std::span<float>(), Soon()).ok());
    EXPECT_TRUE(collective.Barrier(Soon()).ok());
  });
}

TEST_P(CollectiveConformanceTest, BroadcastsFromAnyRoot) {
  auto ranks = GetParam()(3);
  OnEveryRank(ranks, [](Collective& collective) {
    for (uint32_t root = 0; root < 3; ++root) {
      std::vector<std::byte> bytes(5000, static_cast<std::byte>(collective.rank().value + 1));
      ASSERT_TRUE(collective.Broadcast(bytes, Rank(root), Soon()).ok());
      EXPECT_EQ(bytes, std::vector<std::byte>(5000, static_cast<std::byte>(root + 1)));
    }
  });
}

TEST_P(CollectiveConformanceTest, GathersInRankOrder) {
  auto ranks = GetParam()(3);
  OnEveryRank(ranks, [](Collective& collective) {
    const auto own = static_cast<std::byte>(collective.rank().value + 7);
    const Result<std::vector<std::byte>> all = collective.AllGather(std::vector<std::byte>{own, std::byte{1}}, Soon());
    ASSERT_TRUE(all.ok()) << all.status().ToString();
    EXPECT_EQ(*all, (std::vector<std::byte>{std::byte{7}, std::byte{1}, std::byte{8}, std::byte{1}, std::byte{9},
                                            std::byte{1}}));
  });
}

TEST_P(CollectiveConformanceTest, NoRankLeavesABarrierBeforeAllHaveEntered) {
  auto ranks = GetParam()(4);
  std::atomic<int> entered = 0;
  OnEveryRank(ranks, [&](Collective& collective) {
    for (int round = 1; round <= 20; ++round) {
      ++entered;
      ASSERT_TRUE(collective.Barrier(Soon()).ok());
      EXPECT_GE(entered.load(), 4 * round);
    }
  });
}

TEST_P(CollectiveConformanceTest, PollsUntilEveryRankIsDone) {
  for (const uint32_t size : {1u, 2u, 4u}) {
    auto ranks = GetParam()(size);
    std::atomic<uint32_t> done = 0;
    OnEveryRank(ranks, [&](Collective& collective) {
      for (uint32_t round = 1; round <= 5; ++round) {
        uint32_t polls = 0;
        const Status status = collective.PollUntilAllDone(
            [&]() -> Result<bool> {
              if (++polls <= collective.rank().value) return false;
              ++done;
              return true;
            },
            Soon());
        ASSERT_TRUE(status.ok()) << status.ToString();
        EXPECT_GE(done.load(), round * size);
        EXPECT_EQ(polls, collective.rank().value + 1);
      }
      EXPECT_TRUE(collective.Barrier(Soon()).ok());
    });
  }
}

TEST_P(CollectiveConformanceTest, AnErrorOfAPollFailsTheGroup) {
  auto ranks = GetParam()(3);
  OnEveryRank(ranks, [](Collective& collective) {
    const bool fails = collective.rank() == Rank(1);
    const auto poll = [&]() -> Result<bool> { return fails ? Result<bool>(DataLoss("x")) : Result<bool>(false); };
    const Status status = collective.PollUntilAllDone(poll, Soon());
    EXPECT_EQ(status.code(), fails ? StatusCode::kDataLoss : StatusCode::kUnavailable) << status.ToString();
    EXPECT_EQ(collective.Barrier(Soon()).code(), status.code());
  });
}

// When the rank leaves, some of the other ranks still poll, and some wait for the others to finish polling.
TEST_P(CollectiveConformanceTest, APollEndsWhenARankLeavesAndAtItsDeadline) {
  auto ranks = GetParam()(4);
  OnEveryRank(ranks, [&](Collective& collective) {
    if (collective.rank() == Rank(2)) {
      ranks[2].reset();
      return;
    }
    const auto poll = [&]() -> Result<bool> { return collective.rank() == Rank(0); };
    EXPECT_EQ(collective.PollUntilAllDone(poll, Soon()).code(), StatusCode::kUnavailable);
  });
  auto late = GetParam()(2);
  const auto never = []() -> Result<bool> { return false; };
  EXPECT_EQ(late[0]->PollUntilAllDone(never, VerySoon()).code(), StatusCode::kDeadlineExceeded);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(late[1]->PollUntilAllDone(never, Soon().OrStop(stop.get_token())).ok());
  auto stopped = GetParam()(1);
  EXPECT_EQ(stopped[0]->PollUntilAllDone(never, Soon().OrStop(stop.get_token())).code(), StatusCode::kCancelled);
}

TEST_P(CollectiveConformanceTest, FailsAtTheDeadlineWhenARankIsMissingAndStaysFailed) {
  auto ranks = GetParam()(2);
  std::vector<float> values(3, 1.0f);
  const Status status = ranks[0]->AllReduceSum(std::span<float>(values), VerySoon());
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  EXPECT_EQ(ranks[0]->Barrier(Soon()).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ranks[0]->AllGather({}, Soon()).status().code(), StatusCode::kDeadlineExceeded);
  // The late rank gets the error at once.
  const Status late = ranks[1]->AllReduceSum(std::span<float>(values), Soon());
  EXPECT_FALSE(late.ok());
  EXPECT_EQ(ranks[1]->Barrier(Soon()).code(), late.code());
}

TEST_P(CollectiveConformanceTest, FailsOtherRanksAtOnceWhenARankIsDestroyed) {
  auto ranks = GetParam()(3);
  OnEveryRank(ranks, [&](Collective& collective) {
    ASSERT_TRUE(collective.Barrier(Soon()).ok());
    if (collective.rank() == Rank(2)) {
      ranks[2].reset();
      return;
    }
    std::vector<float> values(1000, 1.0f);
    const Status status = collective.AllReduceSum(std::span<float>(values), Soon());
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.ToString();
    EXPECT_EQ(collective.Barrier(Soon()).code(), StatusCode::kUnavailable);
  });
}

TEST_P(CollectiveConformanceTest, FailsOtherRanksAtOnceWhenARankAbandonsTheGroup) {
  auto ranks = GetParam()(3);
  OnEveryRank(ranks, [&](Collective& collective) {
    ASSERT_TRUE(collective.Barrier(Soon()).ok());
    if (collective.rank() == Rank(1)) {
      collective.Abandon();
      collective.Abandon();
    } else {
      EXPECT_EQ(collective.Barrier(Soon()).code(), StatusCode::kUnavailable);
    }
    EXPECT_EQ(collective.Barrier(Soon()).code(), StatusCode::kUnavailable);
  });
}

TEST_P(CollectiveConformanceTest, AnotherThreadEndsAnOperationByAbandoningTheGroup) {
  auto ranks = GetParam()(3);
  std::latch last_operation(1);
  OnEveryRank(ranks, [&](Collective& collective) {
    ASSERT_TRUE(collective.Barrier(Soon()).ok());
    if (collective.rank() == Rank(2)) {
      last_operation.wait();  // this rank enters no barrier before the others have failed
    } else if (collective.rank() == Rank(1)) {
      EXPECT_EQ(collective.Barrier(Soon()).code(), StatusCode::kUnavailable);
    } else {
      std::jthread other([&] { collective.Abandon(); });  // before the operation, or while it waits
      EXPECT_EQ(collective.Barrier(Soon()).code(), StatusCode::kUnavailable);
      EXPECT_EQ(collective.Barrier(Soon()).code(), StatusCode::kUnavailable);
      last_operation.count_down();
    }
  });
}

TEST_P(CollectiveConformanceTest, AgreesOnTheErrorOfTheLowestRankAndStaysUsable) {
  auto ranks = GetParam()(3);
  OnEveryRank(ranks, [](Collective& collective) {
    const uint32_t rank = collective.rank().value;
    EXPECT_TRUE(AgreeOn(Status(), collective, std::chrono::seconds(60)).ok());
    const Status own = rank == 0 ? Status() : NotFound("no column 'x" + std::to_string(rank) + "'");
    EXPECT_EQ(AgreeOn(own, collective, std::chrono::seconds(60)), NotFound("trainer 1: no column 'x1'"));
    EXPECT_TRUE(collective.Barrier(Soon()).ok());
  });
}

// Each step may take as long as an operation; all steps together take longer than one operation.
TEST_P(CollectiveConformanceTest, RanksWaitForOneStepAtATime) {
  constexpr auto kTimeout = std::chrono::minutes(1);
  auto ranks = GetParam()(3);
  std::atomic<int> steps = 0, others = 0;
  OnEveryRank(ranks, [&](Collective& collective) {
    const auto step = [&]() -> Result<bool> {
      if (collective.rank() != Rank(1)) ++others;
      return ++steps < 4;
    };
    EXPECT_EQ(WorkInSteps(Rank(1), step, collective, kTimeout).ToString(), "OK");
    EXPECT_EQ(steps, 4);
    const auto fails = []() -> Result<bool> { return DataLoss("x"); };
    EXPECT_EQ(WorkInSteps(Rank(2), fails, collective, kTimeout), DataLoss("trainer 2: x"));
    // Longer than longest_step / 60, the interval at which RunOnSideThread synchronizes.
    const auto long_work = []() -> Status {
      Clock::Real().SleepFor(std::chrono::milliseconds(1500));
      return NotFound("y");
    };
    EXPECT_EQ(RunOnSideThread(Rank(0), long_work, collective, std::chrono::seconds(60)), NotFound("trainer 0: y"));
    const auto throws = []() -> Status { throw std::bad_alloc(); };
    EXPECT_EQ(RunOnSideThread(Rank(0), throws, collective, kTimeout).code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(RunOnSideThread(
                  Rank(0), [] { return Status(); }, collective, kTimeout)
                  .ToString(),
              "OK")
        << "the group stays usable";
  });
  EXPECT_EQ(others, 0);
}

}  // namespace
}  // namespace espalier::collective
