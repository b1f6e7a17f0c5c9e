// Tests when a checkpoint is due, and the differences that are reported if a run resumes under other conditions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/testing/fake_clock.h"
#include "services/trainer/checkpoint/checkpoint_fields.h"
#include "services/trainer/checkpoint/checkpoint_state.h"
#include "services/trainer/checkpoint/checkpoint_trigger.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

TEST(CheckpointStateTest, ReportsChangedEnvironment) {
  CheckpointFacts facts;
  facts.num_trainers = 2;
  facts.partition_key = "a";
  facts.math.threads = 1;
  facts.math.blas_kernel = "Haswell";
  facts.collective = "Ring";
  const format::CheckpointManifest manifest = MakeManifest(LoopSnapshot(), facts);
  EXPECT_TRUE(DescribeChanges(manifest, facts).empty());
  facts.num_trainers = 3;
  facts.partition_key = "b";
  facts.math.threads = 2;
  facts.math.blas_kernel = "Zen";
  facts.math.device = "CUDA NVIDIA H200";
  facts.precision = job::Precision::kBf16;
  const std::vector<std::string> changes = DescribeChanges(manifest, facts);
  ASSERT_EQ(changes.size(), 6u);
  EXPECT_THAT(changes[0], HasSubstr("the number of trainers was 2 and is 3: the run resumes from the same step"));
  EXPECT_THAT(changes[1], HasSubstr("the partitioning was a and is b"));
  EXPECT_THAT(changes[2], HasSubstr("the number of threads was 1 and is 2"));
  EXPECT_THAT(changes[3], HasSubstr("the BLAS kernel was Haswell and is Zen"));
  EXPECT_THAT(changes[4], HasSubstr("the device was CPU and is CUDA NVIDIA H200"));
  EXPECT_EQ(
      changes[5],
      "training.precision was F32 and is BF16: the run resumes from the same step; its results are close to those of "
      "a run without the change, but not bitwise equal");
  EXPECT_THAT(changes[0], ::testing::Not(HasSubstr("other neighbors")));

  facts.fields["training.sampling.expand"] = "Once";
  const std::vector<std::string> with_expand_once = DescribeChanges(manifest, facts);
  ASSERT_EQ(with_expand_once.size(), 6u);
  EXPECT_THAT(with_expand_once[0], HasSubstr("the number of trainers was 2 and is 3"));
  EXPECT_THAT(with_expand_once[0], HasSubstr("other neighbors"));
  EXPECT_THAT(with_expand_once[1], HasSubstr("other neighbors"));
  EXPECT_THAT(with_expand_once[2], ::testing::Not(HasSubstr("other neighbors")));
}

// With learnable rows, a checkpoint contains no best model, so ToSnapshot recomputes best_epoch. Without them,
// best_epoch is the epoch of the saved best model, so ToSnapshot keeps it.
TEST(CheckpointStateTest, RecomputesBestEpochWithLearnableRows) {
  for (const bool has_rows : {false, true}) {
    LoopSnapshot snapshot;
    for (uint32_t epoch = 0; epoch < 3; ++epoch) {
      EpochReport report;
      report.epoch = epoch;
      if (epoch > 0) report.validation = 0.3 * epoch;
      snapshot.epochs.push_back(report);
    }
    snapshot.best_validation = snapshot.epochs[2].validation;
    snapshot.model = snapshot.optimizer = {{"weight", torch::zeros({2})}};
    format::LoadedCheckpoint checkpoint{
        .folder = "f", .manifest = MakeManifest(snapshot, CheckpointFacts()), .files = ToFiles(snapshot), .bytes = {}};
    if (has_rows) checkpoint.manifest.files.emplace_back().key = format::LearnablePieceKey(0);
    const Result<LoopSnapshot> back = ToSnapshot(checkpoint);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(back->best_epoch, has_rows ? 2u : 0u);
  }
}

TEST(CheckpointStateTest, OlderCheckpointWithoutEdgeTypesFits) {
  CheckpointFacts facts;
  facts.fields = {{kCanonicalEdgeTypes, "n:a:n,n:b:n"}, {"training.task.edgeType", ""}};
  format::CheckpointManifest manifest = MakeManifest(LoopSnapshot(), facts);
  EXPECT_EQ(CheckFits(manifest, facts), Status());
  facts.fields[kCanonicalEdgeTypes] = "n:0b:n,n:a:n";
  const Status other = CheckFits(manifest, facts);
  EXPECT_EQ(other.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(other.message(), HasSubstr("training.task.edgeTypes: the checkpoint has 'n:a:n,n:b:n', this job has "
                                         "'n:0b:n,n:a:n'"));
  manifest.fields.erase(kCanonicalEdgeTypes);
  EXPECT_EQ(CheckFits(manifest, facts), Status());
}

TEST(CheckpointTriggerTest, IsDueByStepsEpochsOrTime) {
  FakeClock clock;
  job::Checkpoint when;
  when.every_steps = 4;
  when.every_epochs = 2;
  when.every = std::chrono::seconds(60);
  CheckpointTrigger trigger(when, clock);
  EXPECT_TRUE(trigger.HasInterval());
  EXPECT_FALSE(trigger.IsDueAfter({0, 3, true}));
  EXPECT_TRUE(trigger.IsDueAfter({1, 4, false}));
  EXPECT_TRUE(trigger.IsDueAfter({1, 5, false})) << "until it is taken";
  trigger.Reset();
  EXPECT_FALSE(trigger.IsDueAfter({1, 5, false}));
  EXPECT_TRUE(trigger.IsDueAfter({1, 6, true}));
  trigger.Reset();
  clock.Advance(std::chrono::seconds(59));
  EXPECT_FALSE(trigger.IsDueAfter({2, 7, false}));
  clock.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(trigger.IsDueAfter({2, 7, false}));
  EXPECT_FALSE(CheckpointTrigger({}, clock).HasInterval());
}

}  // namespace
}  // namespace espalier::trainer
