#include "services/job/checks/job_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::job {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> WarningsOf(ModelType type, int64_t hidden_size, int64_t heads) {
  DistTraining job;
  job.training.model.type = type;
  job.training.model.hidden_size = hidden_size;
  job.training.model.heads = heads;
  return JobWarnings(job);
}

TEST(JobWarningsTest, WarnsOfNarrowHeads) {
  EXPECT_THAT(WarningsOf(ModelType::kGat, 8, 8),
              ElementsAre("spec.training.model.hiddenSize: 8 leaves 1 column for each of 8 heads, expected at least 4; "
                          "hiddenSize is the width of all heads together: for heads of 8 columns write 64"));
  EXPECT_EQ(WarningsOf(ModelType::kGatv2, 12, 4).size(), 1u);
  EXPECT_THAT(WarningsOf(ModelType::kGat, 16, 4), IsEmpty());
  EXPECT_THAT(WarningsOf(ModelType::kGat, 2, 1), IsEmpty()) << "the layer is that narrow";
  EXPECT_THAT(WarningsOf(ModelType::kGraphSage, 2, 1), IsEmpty());
}

TEST(JobWarningsTest, WarnsOfUnusedGpu) {
  DistTraining job;
  job.trainer_gpus = 1;
  EXPECT_THAT(JobWarnings(job),
              ElementsAre("spec.trainers.gpus: found 1, but trainers with device CPU do not use a GPU; set "
                          "spec.trainers.device to CUDA"));
  job.trainer_device = Device::kCuda;
  EXPECT_THAT(JobWarnings(job), IsEmpty());
  job.trainer_device = Device::kCpu;
  job.program.emplace();
  EXPECT_THAT(JobWarnings(job), IsEmpty()) << "programs choose their own device";
}

}  // namespace
}  // namespace espalier::job
