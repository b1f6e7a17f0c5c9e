// Runs whose gradients are summed on the device, with the fake NCCL. CPU tensors take the path of GPUs
// (TorchPathScope).
#include <gtest/gtest.h>

#include "services/collective/nccl/testing/fake_nccl.h"
#include "services/collective/nccl/testing/nccl_group.h"
#include "services/trainer/ops/op_path.h"
#include "services/trainer/testing/community.h"
#include "services/trainer/testing/small_runs.h"

namespace espalier::trainer {
namespace {

job::DistTraining ShortCommunityJob() {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 2;
  return job;
}

SmallRun RunWithNccl(uint32_t trainers) {
  SmallRun run{.trainers = trainers};
  run.make_group = [](uint32_t size) { return collective::WithFakeNccl(collective::MakeInProcessGroup(size)); };
  return run;
}

// The fake sums in the order of ranks, as the group of threads does.
TEST(NcclTrainingTest, GradientsAreSummedOnTheDeviceToTheSameParameters) {
  const collective::FakeNccl fake = collective::OpenFakeNccl();
  const TorchPathScope torch_path;
  for (const uint32_t trainers : {2u, 4u}) {
    fake.FakeNcclReset();
    const TrainOutcome on_host = TrainSmall(CommunityGraph(), ShortCommunityJob(), {.trainers = trainers});
    EXPECT_EQ(fake.FakeNcclNumBegun(), 0);
    const TrainOutcome on_device = TrainSmall(CommunityGraph(), ShortCommunityJob(), RunWithNccl(trainers));
    EXPECT_EQ(on_device.parameters_digest, on_host.parameters_digest);
    EXPECT_EQ(on_device.loop.first_epoch_losses, on_host.loop.first_epoch_losses);
    const size_t steps = 2 * on_host.loop.first_epoch_losses.size();
    EXPECT_EQ(fake.FakeNcclNumBegun(), static_cast<int>(steps * trainers));
    EXPECT_EQ(fake.FakeNcclNumAlive(), 0);
  }
}

TEST(NcclTrainingTest, GradientsOnTheHostAreSummedByTheGroup) {
  const collective::FakeNccl fake = collective::OpenFakeNccl();
  const TrainOutcome by_group = TrainSmall(CommunityGraph(), ShortCommunityJob(), {.trainers = 2});
  EXPECT_EQ(TrainSmall(CommunityGraph(), ShortCommunityJob(), RunWithNccl(2)).parameters_digest,
            by_group.parameters_digest);
  EXPECT_EQ(fake.FakeNcclNumBegun(), 0);
}

TEST(NcclTrainingTest, AnErrorOfNcclEndsTheRunOnAllTrainers) {
  const collective::FakeNccl fake = collective::OpenFakeNccl();
  const TorchPathScope torch_path;
  fake.FakeNcclFail(/*rank=*/1, /*when=*/1, collective::kNcclRemoteError);
  const Result<TrainOutcome> outcome = RunSmall(CommunityGraph(), ShortCommunityJob(), RunWithNccl(2));
  EXPECT_EQ(outcome.status().code(), StatusCode::kUnavailable) << outcome.status().ToString();
  EXPECT_EQ(fake.FakeNcclNumAlive(), 0);
  fake.FakeNcclReset();
}

}  // namespace
}  // namespace espalier::trainer
