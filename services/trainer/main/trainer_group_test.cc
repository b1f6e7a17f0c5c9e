#include "services/trainer/main/trainer_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "services/base/testing/soon.h"
#include "services/collective/nccl/testing/fake_nccl.h"

namespace espalier::trainer {
namespace {

using testing::StartsWith;

// The name of a pod may enter DNS only after the pod has started.
TEST(TrainerGroupTest, RankZeroHostsTheRendezvousBeforeItsNameIsKnown) {
  TrainerFlags flags;
  flags.world_size = 2;
  flags.rendezvous = "cora-trainer-1-0.cora.invalid:0";
  flags.local_address = "127.0.0.1";
  flags.insecure_listen_any = true;

  const auto group = TrainerGroup::Listen(flags, nullptr);

  ASSERT_TRUE(group.ok()) << group.status().ToString();
  EXPECT_THAT((*group)->rendezvous(), StartsWith("cora-trainer-1-0.cora.invalid:"));
}

// The result of Connect for one of two trainers.
struct Connected {
  std::string backend;  // or the error
  std::string warning;
};

// Connects two trainers and returns the result of the first one; expects that both have the same backend. Their GPUs
// have the numbers 0 and 1 unless `change` sets others.
template <class Change>
Connected ConnectTwo(const std::string& collective, job::Device wanted, const Change& change) {
  std::vector<TrainerFlags> flags(2);
  std::vector<std::unique_ptr<TrainerGroup>> groups;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    flags[rank].rank = rank;
    flags[rank].world_size = 2;
    flags[rank].collective = collective;
    if (rank == 1) flags[rank].rendezvous = groups[0]->rendezvous();
    auto group = TrainerGroup::Listen(flags[rank], nullptr);
    ESPALIER_CHECK(group.ok()) << group.status().ToString();
    groups.push_back(*std::move(group));
  }
  std::vector<Connected> connected(2);
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      TrainerGpu gpu{.wanted = wanted, .number = static_cast<int>(rank)};
      gpu.nccl = {.nccl = collective::FakeNcclPath(), .cuda_runtime = collective::FakeNcclPath()};
      change(rank, gpu);
      const auto group = groups[rank]->Connect(gpu, Soon());
      connected[rank] = {group.ok() ? (*group)->backend() : group.status().ToString(), groups[rank]->warning()};
    });
  }
  threads.clear();  // joins
  EXPECT_EQ(connected[0].backend, connected[1].backend);
  return connected[0];
}

constexpr auto kUnchanged = [](uint32_t, TrainerGpu&) {};

TEST(TrainerGroupTest, TrainersWithGpusOfTheirOwnUseNccl) {
  collective::OpenFakeNccl();
  for (const char* collective : {"auto", "nccl"}) {
    for (const job::Device wanted : {job::Device::kCuda, job::Device::kAuto}) {
      const Connected connected = ConnectTwo(collective, wanted, kUnchanged);
      EXPECT_EQ(connected.backend, "NCCL 2.28.9");
      EXPECT_EQ(connected.warning, "");
    }
  }
  EXPECT_EQ(ConnectTwo("ring", job::Device::kCuda, kUnchanged).backend, "Ring");
}

TEST(TrainerGroupTest, WithoutNcclTrainersOnGpusUseTheRingAndWarn) {
  collective::OpenFakeNccl();
  const auto share_one = [](uint32_t, TrainerGpu& gpu) { gpu.number = 3; };
  const Connected connected = ConnectTwo("auto", job::Device::kCuda, share_one);
  EXPECT_EQ(connected.backend, "Ring");
  EXPECT_EQ(connected.warning,
            "gradients are copied to host memory and summed over the ring, because NCCL is not used: trainers 0 and 1 "
            "share the GPU 0000:13:00.0, and NCCL needs one GPU for each trainer");
  EXPECT_EQ(ConnectTwo("nccl", job::Device::kCuda, share_one).backend,
            "FAILED_PRECONDITION: --collective nccl: trainers 0 and 1 share the GPU 0000:13:00.0, and NCCL needs one "
            "GPU for each trainer");
}

TEST(TrainerGroupTest, TrainersOnTheCpuUseTheRing) {
  const auto no_gpu = [](uint32_t, TrainerGpu& gpu) { gpu.number.reset(); };
  for (const job::Device wanted : {job::Device::kCpu, job::Device::kAuto}) {
    const Connected connected = ConnectTwo("auto", wanted, no_gpu);
    EXPECT_EQ(connected.backend, "Ring");
    EXPECT_EQ(connected.warning, "");
  }
  TrainerFlags alone;
  alone.collective = "nccl";
  const auto group = TrainerGroup::Listen(alone, nullptr);
  ASSERT_TRUE(group.ok());
  EXPECT_EQ(
      (*group)->Connect({}, Soon()).status(),
      InvalidArgument("--collective nccl: spec.trainers.device is CPU, expected CUDA or Auto, or --collective ring"));
}

}  // namespace
}  // namespace espalier::trainer
