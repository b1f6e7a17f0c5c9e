// Sums over the fake NCCL: the conformance suite, the choice between NCCL and the given group, and the end of each wait
// when NCCL or a rank fails. Groups are of threads; client/ring runs the conformance suite over TCP.
#include "services/collective/nccl/nccl_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <stop_token>
#include <thread>

#include "services/collective/in_process_collective.h"
#include "services/collective/nccl/testing/fake_nccl.h"
#include "services/collective/nccl/testing/nccl_group.h"
#include "services/collective/testing/conformance.h"

namespace espalier::collective {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr auto kUnchanged = [](uint32_t, NcclOptions&) {};

INSTANTIATE_TEST_SUITE_P(NcclInProcess, CollectiveConformanceTest, testing::Values(GroupFactory([](uint32_t size) {
                           return SumWithFakeNccl(MakeInProcessGroup(size));
                         })));

class NcclCollectiveTest : public testing::Test {
 protected:
  ~NcclCollectiveTest() override { fake_.FakeNcclReset(); }

  // Returns connected ranks; fails the test if NCCL cannot be used.
  std::vector<std::unique_ptr<Collective>> Connect(uint32_t size) {
    std::vector<std::unique_ptr<Collective>> ranks;
    for (auto& connection : ConnectRanks(MakeInProcessGroup(size), kUnchanged)) {
      EXPECT_TRUE(connection.ok() && connection->unusable.ok());
      ranks.push_back(std::move(connection->group));
    }
    return ranks;
  }

  // Returns why NCCL cannot be used; the same for all ranks, whose groups stay usable without NCCL.
  template <class Change>
  Status Refused(uint32_t size, const Change& change) {
    auto connections = ConnectRanks(MakeInProcessGroup(size), change);
    std::vector<std::unique_ptr<Collective>> ranks;
    for (auto& connection : connections) {
      EXPECT_TRUE(connection.ok()) << connection.status().ToString();
      EXPECT_EQ(connection->unusable, connections[0]->unusable);
      ranks.push_back(std::move(connection->group));
    }
    OnEveryRank(ranks, [&](Collective& group) {
      EXPECT_STREQ(group.backend(), "InProcess");
      EXPECT_FALSE(group.SumsOnDevice());
      float one = 1;
      EXPECT_TRUE(group.AllReduceSum(std::span(&one, 1), Soon()).ok());
      EXPECT_EQ(one, static_cast<float>(size));
    });
    EXPECT_EQ(fake_.FakeNcclNumAlive(), 0);
    return connections[0]->unusable;
  }

  static Status Sum(Collective& group, std::vector<float>& values, Deadline deadline = Soon()) {
    return group.AllReduceSumOnDevice({values.data(), values.size()}, deadline);
  }

  // Blocks until `num` ranks have begun a sum.
  void AwaitBegun(int num) {
    while (fake_.FakeNcclNumBegun() < num) std::this_thread::yield();
  }

  const FakeNccl fake_ = OpenFakeNccl();
};

TEST_F(NcclCollectiveTest, SumsOnDevicesWithOneIdForAllRanks) {
  auto connections = ConnectRanks(MakeInProcessGroup(4), kUnchanged);
  EXPECT_EQ(fake_.FakeNcclNumIds(), 1);
  EXPECT_EQ(fake_.FakeNcclNumAlive(), 4);
  std::vector<std::unique_ptr<Collective>> ranks;
  for (auto& connection : connections) {
    ASSERT_TRUE(connection.ok()) << connection.status().ToString();
    EXPECT_EQ(connection->unusable, Status());
    EXPECT_STREQ(connection->group->backend(), "NCCL 2.28.9");
    EXPECT_TRUE(connection->group->SumsOnDevice());
    ranks.push_back(std::move(connection->group));
  }
  OnEveryRank(ranks, [](Collective& group) {
    for (int round = 0; round < 10; ++round) {
      std::vector<float> values = {static_cast<float>(group.rank().value), 1};
      const Status status = Sum(group, values);
      ASSERT_TRUE(status.ok()) << status.ToString();
      EXPECT_EQ(values, (std::vector<float>{6, 4}));
    }
  });
  EXPECT_EQ(fake_.FakeNcclNumBegun(), 40);
  ranks.clear();
  EXPECT_EQ(fake_.FakeNcclNumAlive(), 0);
}

TEST_F(NcclCollectiveTest, OtherBackendsDoNotSumOnDevices) {
  auto ranks = MakeInProcessGroup(1);
  std::vector<float> values = {1};
  EXPECT_EQ(Sum(*ranks[0], values),
            FailedPrecondition("the backend InProcess does not sum values in the memory of GPUs"));
}

// --- NCCL cannot be used

TEST_F(NcclCollectiveTest, MissingLibraryOnOneRankFallsBackOnAll) {
  const Status status = Refused(3, [](uint32_t rank, NcclOptions& options) {
    if (rank == 1) options.paths.nccl = "/no/such/libnccl.so.2";
  });
  EXPECT_EQ(status,
            FailedPrecondition("trainer 1: opening NCCL: /no/such/libnccl.so.2: cannot open shared object file: "
                               "No such file or directory; use a torch with CUDA and its nvidia-* packages"));
  EXPECT_EQ(fake_.FakeNcclNumIds(), 0);
}

TEST_F(NcclCollectiveTest, RefusesOtherLibrary) {
  const Status status = Refused(2, [](uint32_t, NcclOptions& options) { options.paths.nccl = "libm.so.6"; });
  EXPECT_EQ(status, FailedPrecondition("trainer 0: opening NCCL: libm.so.6 has no function ncclGetVersion; use a torch "
                                       "with CUDA and its nvidia-* packages"));
}

TEST_F(NcclCollectiveTest, RequiresCudaRuntime) {
  const Status status = Refused(2, [](uint32_t, NcclOptions& options) { options.paths.cuda_runtime = ""; });
  EXPECT_EQ(status, FailedPrecondition("trainer 0: opening NCCL: this process has no function cudaSetDevice; use a "
                                       "torch with CUDA and its nvidia-* packages"));
}

TEST_F(NcclCollectiveTest, RefusesAVersionThatIsTooOld) {
  fake_.FakeNcclSetVersion(21605);
  EXPECT_EQ(Refused(2, kUnchanged),
            FailedPrecondition("trainer 0: opening NCCL: " + FakeNcclPath() +
                               " has the version 2.16.5, expected 2.17.0 or newer; use a torch with CUDA and its "
                               "nvidia-* packages"));
}

TEST_F(NcclCollectiveTest, AllRanksNeedTheSameVersion) {
  const std::string other = testing::TempDir() + "/other_nccl." + std::to_string(getpid()) + ".so";
  std::filesystem::copy_file(FakeNcclPath(), other);
  OpenFakeNccl(other).FakeNcclSetVersion(22703);
  const auto change = [&](uint32_t rank, NcclOptions& options) {
    if (rank == 1) options.paths = {.nccl = other, .cuda_runtime = other};
  };
  EXPECT_EQ(Refused(2, change),
            FailedPrecondition("trainer 1 has NCCL 2.27.3, trainer 0 has 2.28.9: use one version on "
                               "all machines"));
  std::filesystem::remove(other);
}

TEST_F(NcclCollectiveTest, EachRankNeedsAGpuOfItsOwn) {
  EXPECT_EQ(Refused(3, [](uint32_t, NcclOptions& options) { options.device = *options.device % 2; }),
            FailedPrecondition("trainers 0 and 2 share the GPU 0000:10:00.0, and NCCL needs one GPU for each trainer"));
  EXPECT_EQ(Refused(2,
                    [](uint32_t rank, NcclOptions& options) {
                      if (rank == 1) options.device.reset();
                    }),
            FailedPrecondition("trainer 1: this trainer computes on the CPU, and NCCL sums on GPUs"));
  EXPECT_EQ(Refused(2,
                    [](uint32_t rank, NcclOptions& options) {
                      if (rank == 1) options.device = 99;
                    }),
            Internal("trainer 1: asking for the address of GPU 99: invalid device ordinal (CUDA's error 101)"));
}

TEST_F(NcclCollectiveTest, RanksOnSeveralHostsNeedPermission) {
  const auto own_host = [](uint32_t rank, NcclOptions& options) {
    options.host = "host " + std::to_string(rank);
    options.device = 0;  // the same address, of another machine
  };
  EXPECT_EQ(Refused(2, own_host), FailedPrecondition("the trainers are on 2 different hosts or containers, and NCCL "
                                                     "sends in plaintext between them; --collective nccl allows this"));
  for (auto& connection : ConnectRanks(MakeInProcessGroup(2), [&](uint32_t rank, NcclOptions&options) {
         own_host(rank, options);
         options.device = static_cast<int>(rank);  // the fake has one machine
         options.allow_other_hosts = true;
       })) {
    ASSERT_TRUE(connection.ok());
    EXPECT_EQ(connection->unusable, Status());
  }
}

// The other ranks wait in NCCL until connect_timeout, because NCCL does not report the error to them.
TEST_F(NcclCollectiveTest, FailedConnectFallsBackOnAllRanks) {
  fake_.FakeNcclFail(/*rank=*/1, /*when=*/0, kNcclSystemError);
  const auto soon = [](uint32_t, NcclOptions& options) { options.connect_timeout = std::chrono::milliseconds(50); };
  EXPECT_EQ(Refused(2, soon), DeadlineExceeded("trainer 0: connecting the GPUs: NCCL did not connect in time"));
  fake_.FakeNcclFail(/*rank=*/0, /*when=*/0, kNcclSystemError);
  EXPECT_EQ(Refused(2, kUnchanged),
            Unavailable("trainer 0: connecting the GPUs: unhandled system error (NCCL's result 2)"));
}

TEST_F(NcclCollectiveTest, ConnectingLeavesTimeToAgreeBeforeTheDeadline) {
  fake_.FakeNcclFail(/*rank=*/1, /*when=*/0, kNcclSystemError);
  const Deadline before_connect_timeout = Deadline::After(std::chrono::seconds(2));
  for (auto& connection : ConnectRanks(MakeInProcessGroup(2), kUnchanged, before_connect_timeout)) {
    ASSERT_TRUE(connection.ok()) << connection.status().ToString();
    EXPECT_EQ(connection->unusable, DeadlineExceeded("trainer 0: connecting the GPUs: NCCL did not connect in time"));
  }
  EXPECT_EQ(fake_.FakeNcclNumAlive(), 0);
}

// --- a rank ends while the others connect

TEST_F(NcclCollectiveTest, ARankThatLeavesBeforeItConnectsFailsTheOthers) {
  auto ranks = MakeInProcessGroup(3);
  ranks[1]->Abandon();
  auto connections = ConnectRanks(std::move(ranks), kUnchanged);
  for (auto& connection : connections) EXPECT_EQ(connection.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(connections[0].status().message(), "connecting NCCL: rank 1 left the group");
}

TEST_F(NcclCollectiveTest, ARankThatDiesInNcclsConnectFailsTheOthersPromptly) {
  auto ranks = MakeInProcessGroup(3);
  Collective& dies = *ranks[2];
  fake_.FakeNcclFail(/*rank=*/1, /*when=*/0, kNcclInProgress);  // never connects, so that all are waiting
  std::jthread end([&] {
    while (fake_.FakeNcclNumAlive() < 3) std::this_thread::yield();
    dies.Abandon();
  });
  for (auto& connection : ConnectRanks(std::move(ranks), kUnchanged)) {
    EXPECT_EQ(connection.status().code(), StatusCode::kUnavailable) << connection.status().ToString();
  }
  EXPECT_EQ(fake_.FakeNcclNumAlive(), 0);
}

TEST_F(NcclCollectiveTest, MissingRankEndsConnectAtDeadline) {
  auto ranks = MakeInProcessGroup(2);
  const Status status =
      ConnectNccl(std::move(ranks[0]), FakeOptions(0), Deadline::After(std::chrono::milliseconds(50))).status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
}

// --- a sum fails

TEST_F(NcclCollectiveTest, AnErrorOfNcclOnOneRankFailsAllAndAbortsTheCommunicators) {
  auto ranks = Connect(3);
  fake_.FakeNcclFail(/*rank=*/1, /*when=*/1, kNcclRemoteError);
  OnEveryRank(ranks, [](Collective& group) {
    std::vector<float> values(3, 1.0f);
    const Status status = Sum(group, values);
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("summing over the GPUs: remote process exited or there was a network error "
                                            "(NCCL's result 6)"));
    EXPECT_EQ(Sum(group, values).code(), StatusCode::kUnavailable);
    EXPECT_EQ(group.Barrier(Soon()).code(), StatusCode::kUnavailable);
  });
  EXPECT_EQ(fake_.FakeNcclNumAlive(), 0);
}

TEST_F(NcclCollectiveTest, ResultsThatNcclDoesNotDefineAreInternalErrors) {
  const std::pair<int, std::string> results[] = {{99, "summing over the GPUs: unknown result code (NCCL's result 99)"},
                                                 {-7, "summing over the GPUs: unknown error (NCCL's result -7)"}};
  for (const auto& [result, message] : results) {
    fake_.FakeNcclReset();
    auto ranks = Connect(2);
    fake_.FakeNcclFail(/*rank=*/0, /*when=*/1, result);
    OnEveryRank(ranks, [&, &message = message](Collective& group) {
      std::vector<float> values(3, 1.0f);
      const Status status = Sum(group, values);
      if (group.rank() == Rank(0)) {
        EXPECT_EQ(status, Internal(message));
      } else {
        EXPECT_EQ(status.code(), StatusCode::kUnavailable);
      }
    });
  }
}

TEST_F(NcclCollectiveTest, AHangingSumEndsAtTheDeadline) {
  auto ranks = Connect(2);
  fake_.FakeNcclHoldSums();
  OnEveryRank(ranks, [](Collective& group) {
    std::vector<float> values(3, 1.0f);
    // The second rank learns of the first one's deadline.
    const bool is_first = group.rank() == Rank(0);
    const Status status = Sum(group, values, is_first ? Deadline::After(std::chrono::milliseconds(50)) : Soon());
    EXPECT_EQ(status.code(), is_first ? StatusCode::kDeadlineExceeded : StatusCode::kAborted) << status.ToString();
  });
  EXPECT_EQ(fake_.FakeNcclNumAlive(), 0);
}

TEST_F(NcclCollectiveTest, ARankThatDiesInASumFailsTheOthersPromptly) {
  auto ranks = Connect(4);
  fake_.FakeNcclHoldSums();
  Collective& dies = *ranks[2];
  std::jthread end([&] {
    AwaitBegun(4);
    dies.Abandon();
  });
  OnEveryRank(ranks, [](Collective& group) {
    std::vector<float> values(3, 1.0f);
    const Status status = Sum(group, values);
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), EndsWith("rank 2 left the group"));
  });
  EXPECT_EQ(fake_.FakeNcclNumAlive(), 0);
}

TEST_F(NcclCollectiveTest, AStopRequestEndsASum) {
  auto ranks = Connect(2);
  fake_.FakeNcclHoldSums();
  std::stop_source stop;
  std::jthread request([&] {
    AwaitBegun(2);
    stop.request_stop();
  });
  OnEveryRank(ranks, [&](Collective& group) {
    std::vector<float> values(3, 1.0f);
    const bool is_first = group.rank() == Rank(0);
    const Status status = Sum(group, values, is_first ? Soon().OrStop(stop.get_token()) : Soon());
    EXPECT_EQ(status.code(), is_first ? StatusCode::kCancelled : StatusCode::kAborted) << status.ToString();
  });
  EXPECT_EQ(fake_.FakeNcclNumAlive(), 0);
}

}  // namespace
}  // namespace espalier::collective
