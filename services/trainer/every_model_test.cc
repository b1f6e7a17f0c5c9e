// Properties of every model for one node type and of user modules, with features and with learnable rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/job/enum_names.h"
#include "services/trainer/ops/op_path.h"
#include "services/trainer/testing/community.h"
#include "services/trainer/testing/modules.h"
#include "services/trainer/testing/process_folder.h"
#include "services/trainer/testing/small_runs.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

// Returns a job for the model type; saves a TorchScript module to the test's folder first. Learnable rows of `row_size`
// values are joined to the features or, without features, replace them.
job::DistTraining JobOfModel(job::ModelType type, int64_t row_size = 0, bool with_features = true) {
  job::DistTraining job = CommunityJob();
  if (!with_features) job.training.inputs[0].features.clear();
  if (row_size > 0) job.training.inputs[0].embedding = job::Embedding{.size = row_size};
  job.training.epochs = 2;
  job.training.model.type = type;
  if (type == job::ModelType::kGat || type == job::ModelType::kGatv2) {
    job.training.model.heads = 4;
    job.training.model.attention_dropout = 0.3;
  }
  if (type != job::ModelType::kTorchScript) return job;
  job.training.model.uri = FolderOfThisProcess() + "/mean.pt";
  MeanModule((with_features ? 16 : 0) + row_size, 16, 3).save(job.training.model.uri);
  return job;
}

class EveryModelTest : public testing::TestWithParam<job::ModelType> {};

TEST_P(EveryModelTest, GivesTheSameBitsForAnyPartitioningAndTheSameStepsWithTwoTrainers) {
  const job::DistTraining job = JobOfModel(GetParam());
  const TrainOutcome one = TrainSmall(CommunityGraph(), job);
  EXPECT_LT(one.loop.epochs.back().loss, one.loop.epochs.front().loss);
  for (const uint32_t partitions : {2u, 4u}) {
    const TrainOutcome several = TrainSmall(CommunityGraph(), job, {.partitions = partitions});
    EXPECT_EQ(several.parameters_digest, one.parameters_digest) << partitions;
    EXPECT_EQ(several.test, one.test) << partitions;
  }
  const TrainOutcome two = TrainSmall(CommunityGraph(), job, {.partitions = 2, .trainers = 2});
  ASSERT_EQ(two.loop.first_epoch_losses.size(), one.loop.first_epoch_losses.size());
  for (size_t step = 0; step < one.loop.first_epoch_losses.size(); ++step) {
    EXPECT_NEAR(two.loop.first_epoch_losses[step] / one.loop.first_epoch_losses[step], 1.0, 1e-4);
  }
}

// Runs the operations for GPUs on the CPU: masks and mini-batches are the same, sums are rounded differently.
TEST_P(EveryModelTest, TakesSameStepsWithTorchOperations) {
  job::DistTraining job = JobOfModel(GetParam(), /*row_size=*/6);
  if (GetParam() != job::ModelType::kTorchScript) {
    job.training.model.normalization = job::LayerNormalization::kBatch;
  }
  const TrainOutcome by_kernels = TrainSmall(CommunityGraph(), job);
  const TorchPathScope torch_path;
  const TrainOutcome by_torch = TrainSmall(CommunityGraph(), job);
  EXPECT_EQ(TrainSmall(CommunityGraph(), job).parameters_digest, by_torch.parameters_digest);
  ASSERT_EQ(by_torch.loop.first_epoch_losses.size(), by_kernels.loop.first_epoch_losses.size());
  for (size_t step = 0; step < by_kernels.loop.first_epoch_losses.size(); ++step) {
    EXPECT_NEAR(by_torch.loop.first_epoch_losses[step] / by_kernels.loop.first_epoch_losses[step], 1.0, 1e-3) << step;
  }
  EXPECT_NEAR(by_torch.test.value(), by_kernels.test.value(), 0.05);
}

TEST_P(EveryModelTest, TrainsInBf16ToTheSameAccuracyAndToTheSameBitsForAnyPartitioning) {
  job::DistTraining job = JobOfModel(GetParam(), /*row_size=*/6);
  const TrainOutcome in_f32 = TrainSmall(CommunityGraph(), job);
  job.training.precision = job::Precision::kBf16;
  const TrainOutcome in_bf16 = TrainSmall(CommunityGraph(), job);
  for (const uint32_t partitions : {1u, 3u}) {
    const TrainOutcome again = TrainSmall(CommunityGraph(), job, {.partitions = partitions});
    EXPECT_EQ(again.parameters_digest, in_bf16.parameters_digest) << partitions;
    EXPECT_EQ(again.rows_digest, in_bf16.rows_digest) << partitions;
    EXPECT_EQ(again.test, in_bf16.test) << partitions;
  }
  EXPECT_NE(in_bf16.parameters_digest, in_f32.parameters_digest);
  ASSERT_EQ(in_bf16.loop.first_epoch_losses.size(), in_f32.loop.first_epoch_losses.size());
  for (size_t step = 0; step < in_f32.loop.first_epoch_losses.size(); ++step) {
    EXPECT_NEAR(in_bf16.loop.first_epoch_losses[step] / in_f32.loop.first_epoch_losses[step], 1.0, 2e-2) << step;
  }
  EXPECT_NEAR(in_bf16.test.value(), in_f32.test.value(), 0.05);
}

TEST_P(EveryModelTest, TrainsLearnableRowsToTheSameBitsForAnyPartitioning) {
  for (const bool with_features : {true, false}) {
    const job::DistTraining job = JobOfModel(GetParam(), 6, with_features);
    const TrainOutcome one = TrainSmall(CommunityGraph(), job);
    EXPECT_EQ(one.rows_digest.size(), 64u);
    const TrainOutcome several = TrainSmall(CommunityGraph(), job, {.partitions = 3});
    EXPECT_EQ(several.parameters_digest, one.parameters_digest);
    EXPECT_EQ(several.rows_digest, one.rows_digest);
    EXPECT_EQ(several.test, one.test);
    job::DistTraining still = job;
    still.training.inputs[0].embedding->optimizer.learning_rate = 1e-12;
    EXPECT_NE(TrainSmall(CommunityGraph(), still).rows_digest, one.rows_digest) << "nothing was learned";
  }
}

TEST_P(EveryModelTest, WritesModelThatCanBeApplied) {
  job::DistTraining job = JobOfModel(GetParam());
  const bool is_module = GetParam() == job::ModelType::kTorchScript;
  job.output_save = {job::OutputKind::kModel};
  const std::string folder = FolderOfThisProcess() + "/every-model-" + job::ToString(GetParam());
  const TrainOutcome trained = TrainSmall(CommunityGraph(), job, {.output = folder});
  job.training.epochs = 0;
  job.training.model.uri = folder + "/results/000001/model/best." + (is_module ? "pt" : "safetensors");
  const TrainOutcome applied = TrainSmall(CommunityGraph(), job);
  EXPECT_EQ(applied.parameters_digest, trained.parameters_digest);
  EXPECT_EQ(applied.test, trained.test);
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModelTest,
                         testing::Values(job::ModelType::kGraphSage, job::ModelType::kRgcn, job::ModelType::kGcn,
                                         job::ModelType::kGat, job::ModelType::kGatv2, job::ModelType::kTorchScript),
                         [](const auto& instance) { return std::string(job::ToString(instance.param)); });

// The width of a module's input is fixed, so additional learnable rows do not fit.
TEST(ModuleJobTest, ModuleForFeaturesReportsUnexpectedRows) {
  job::DistTraining job = JobOfModel(job::ModelType::kTorchScript, 6);
  MeanModule(16, 16, 3).save(job.training.model.uri);
  const auto outcome = RunSmall(CommunityGraph(), job);
  EXPECT_EQ(outcome.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(outcome.status().message(), HasSubstr("mean.pt"));
}

// Overwrites a tensor that backward() needs, but only for blocks of another size than those of the probe
// (script_probe.h).
TEST(ModuleJobTest, NamesModuleThatFailsInBackward) {
  std::string forward = kMeanForward;
  forward.replace(forward.find("    return {"), 0,
                  "    if self.training and num_rows[\"node\"] < 1000:\n"
                  "        y = y * self.calls\n        self.calls.add_(1.0)\n");
  job::DistTraining job = JobOfModel(job::ModelType::kTorchScript);
  MeanModule(16, 16, 3, forward).save(job.training.model.uri);
  const auto outcome = RunSmall(CommunityGraph(), job);
  EXPECT_EQ(outcome.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(outcome.status().message(), HasSubstr("mean.pt, computing gradients"));
}

}  // namespace
}  // namespace espalier::trainer
