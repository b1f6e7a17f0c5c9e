// Runs on a tiny graph that are stopped or crash, and resume. Trainers are threads.
#include "services/trainer/checkpoint/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/base/failpoint.h"
#include "services/format/checkpoint/checkpoint_catalog.h"
#include "services/trainer/testing/modules.h"
#include "services/trainer/testing/process_folder.h"
#include "services/trainer/testing/tiny_runs.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

// Returns a job with a module that uses torch's random generator, and that has a buffer which each rank changes in each
// training step according to its own rows. If `row_size` > 0, learnable rows of that size are joined to the features.
job::DistTraining JobOfAModule(int64_t row_size = 0) {
  std::string forward = kMeanForward;
  forward.replace(forward.find("    return {"), 0,
                  "    if self.training:\n        self.calls.add_(y.detach().mean())\n"
                  "    y = torch.dropout(y, 0.3, self.training) + self.calls\n");
  job::DistTraining job = TinyJob();
  job.training.model.type = job::ModelType::kTorchScript;
  job.training.model.uri = FolderOfThisProcess() + "/resumed-" + std::to_string(row_size) + ".pt";
  if (row_size > 0) job.training.inputs[0].embedding = job::Embedding{.size = row_size};
  MeanModule(8 + row_size, 6, 3, forward).save(job.training.model.uri);
  return job;
}

TEST(ResumeTest, AttentionAndUserModulesResumeExactly) {
  job::DistTraining gat = TinyJob();
  gat.training.model.type = job::ModelType::kGat;
  gat.training.model.heads = 2;
  gat.training.model.attention_dropout = 0.4;
  for (const job::DistTraining& job : {gat, JobOfAModule(), JobOfAModule(5)}) {
    for (const uint32_t trainers : {1u, 2u}) {
      const TrainOutcome whole = TrainTiny(job, {.trainers = trainers});
      const Store store = NewStore();
      EXPECT_TRUE(TrainTiny(job, {.store = store, .trainers = trainers, .stop_after = 4}).stopped());
      ExpectSame(TrainTiny(job, {.store = store, .incarnation = 2, .trainers = trainers}), whole,
                 std::to_string(trainers) + " trainers");
    }
  }
}

// The model file of such a run does not contain the rows, so resuming is the only way to apply them.
TEST(ResumeTest, LastCheckpointContainsLearnableRowsOfModule) {
  job::DistTraining job = JobOfAModule(5);
  job.checkpoint.every_epochs = 5;  // the end of training is always saved
  const Store store = NewStore();
  const TrainOutcome trained = TrainTiny(job, {.store = store});
  EXPECT_EQ(trained.rows_digest.size(), 64u);
  uint64_t steps = 99;
  const TrainOutcome applied = TrainTiny(job, {.store = store, .incarnation = 2, .num_steps = &steps});
  EXPECT_EQ(steps, 0u);
  ExpectSame(applied, trained, "applied again");
}

TEST(ResumeTest, AnotherModuleIsRefused) {
  const job::DistTraining job = JobOfAModule();
  const Store store = NewStore();
  EXPECT_TRUE(TrainTiny(job, {.store = store, .stop_after = 2}).stopped());
  MeanModule(8, 6, 3).save(job.training.model.uri);
  EXPECT_THAT(RunToError(job, {.store = store, .incarnation = 2, .resume = ResumeMode::kAuto}).message(),
              HasSubstr("training.model.moduleSha256"));
}

TEST(ResumeTest, ResumesExactlyFromEveryStep) {
  const job::DistTraining job = TinyJob();
  for (const uint32_t trainers : {1u, 2u}) {
    const TrainOutcome whole = TrainTiny(job, {.trainers = trainers});
    for (uint64_t steps = 1; steps <= 3 * kStepsPerEpoch; ++steps) {
      const std::string where = std::to_string(trainers) + " trainers, " + std::to_string(steps) + " steps";
      const Store store = NewStore();
      const TrainOutcome cut = TrainTiny(job, {.store = store, .trainers = trainers, .stop_after = steps});
      EXPECT_TRUE(cut.stopped()) << where;
      EXPECT_EQ(cut.checkpoints.num_written, 1u) << where;
      EXPECT_EQ(Checkpoints(store), std::vector{format::CheckpointFolderName({1, steps})});
      uint64_t rest = 0, before = 0;
      const TrainOutcome resumed = TrainTiny(
          job, {.store = store, .incarnation = 2, .trainers = trainers, .num_steps = &rest, .steps_before = &before});
      EXPECT_EQ(before, steps) << where;
      EXPECT_THAT(resumed.resumed_from, HasSubstr(cut.checkpoints.newest));
      EXPECT_EQ(rest, 3 * kStepsPerEpoch - steps) << where;
      ExpectSame(resumed, whole, where);
    }
  }
}

// A stop request during an evaluation takes effect there, and the checkpoint contains all steps of the epoch.
TEST(ResumeTest, StopDuringEvaluationLosesNothing) {
  job::DistTraining with_rows = TinyJob();
  with_rows.training.inputs = {{"", {}, job::Embedding{.size = 5}}};
  with_rows.training.inputs[0].embedding->optimizer.learning_rate = 0.1;
  job::DistTraining sampled = with_rows;
  sampled.training.evaluation.neighborhood = job::EvaluationNeighborhood::kSampled;
  for (const job::DistTraining& job : {TinyJob(), with_rows, sampled}) {
    // The rank with the stop request must have a chunk to compute.
    const bool one_chunk = job.training.evaluation.neighborhood == job::EvaluationNeighborhood::kSampled;
    for (const uint32_t trainers : one_chunk ? std::vector{1u} : std::vector{1u, 2u}) {
      const TrainOutcome whole = TrainTiny(job, {.trainers = trainers});
      const Store store = NewStore();
      const TrainOutcome cut = TrainTiny(job, {.store = store, .trainers = trainers, .stop_in_evaluation = true});
      EXPECT_TRUE(cut.stopped());
      EXPECT_EQ(Checkpoints(store), std::vector{format::CheckpointFolderName({1, kStepsPerEpoch})});
      uint64_t rest = 0;
      ExpectSame(TrainTiny(job, {.store = store, .incarnation = 2, .trainers = trainers, .num_steps = &rest}), whole,
                 std::to_string(trainers) + " trainers");
      EXPECT_EQ(rest, 2 * kStepsPerEpoch);
    }
  }
}

// A failed or slow server must not cause the loss of earlier steps: the step that waits for it counts as not begun.
TEST(ResumeTest, StopDuringWaitForMiniBatchLosesNothing) {
  job::DistTraining with_statistics = TinyJob();
  with_statistics.training.model.normalization = job::LayerNormalization::kBatch;
  for (const job::DistTraining& job : {TinyJob(), with_statistics, JobOfAModule()}) {
    for (const uint32_t trainers : {1u, 2u}) {
      const TrainOutcome whole = TrainTiny(job, {.trainers = trainers});
      for (const uint64_t steps : {uint64_t{0}, uint64_t{1}, uint64_t{kStepsPerEpoch}, uint64_t{kStepsPerEpoch + 2}}) {
        const std::string where = std::to_string(trainers) + " trainers, " + std::to_string(steps) + " steps";
        const Store store = NewStore();
        const TrainOutcome cut = TrainTiny(job, {.store = store, .trainers = trainers, .give_up_after = steps});
        EXPECT_TRUE(cut.stopped()) << where;
        EXPECT_EQ(Checkpoints(store), std::vector{format::CheckpointFolderName({1, steps})}) << where;
        uint64_t rest = 0;
        const Attempt again{.store = store, .incarnation = 2, .trainers = trainers, .num_steps = &rest};
        ExpectSame(TrainTiny(job, again), whole, where);
        EXPECT_EQ(rest, 3 * kStepsPerEpoch - steps) << where;
      }
    }
  }
}

struct Variant {
  std::string name;
  std::function<void(job::Training&)> change;
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class ResumeVariantTest : public testing::TestWithParam<Variant> {};

// The run is stopped repeatedly; every incarnation runs two steps.
TEST_P(ResumeVariantTest, ResumesRepeatedly) {
  job::DistTraining job = TinyJob();
  GetParam().change(job.training);
  for (const uint32_t trainers : {1u, 2u}) {
    const TrainOutcome whole = TrainTiny(job, {.trainers = trainers});
    const Store store = NewStore();
    TrainOutcome last;
    uint64_t incarnation = 1;
    do {
      ASSERT_LT(incarnation, 40u);
      last = TrainTiny(job, {.store = store, .incarnation = incarnation++, .trainers = trainers, .stop_after = 2});
    } while (last.stopped());
    EXPECT_GT(incarnation, 3u);
    ExpectSame(last, whole, GetParam().name);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, ResumeVariantTest,
    testing::Values(Variant{"Adam", [](job::Training& training) { training.optimizer.weight_decay = 0.01; }},
                    Variant{"AdamWCosineBatchNorm",
                            [](job::Training& training) {
                              training.optimizer = {job::OptimizerType::kAdamW, 0.05, 0.1, 0};
                              training.schedule = {job::ScheduleType::kCosine, 2, 10, 0.1};
                              training.model.normalization = job::LayerNormalization::kBatch;
                            }},
                    Variant{"SgdMomentumStep",
                            [](job::Training& training) {
                              training.optimizer = {job::OptimizerType::kSgd, 0.1, 0.001, 0.9};
                              training.schedule = {job::ScheduleType::kStep, 0, 1, 0.5};
                            }},
                    Variant{"PlainSgdLinear",
                            [](job::Training& training) {
                              training.optimizer = {job::OptimizerType::kSgd, 0.1, 0, 0};
                              training.schedule = {job::ScheduleType::kLinear, 1, 10, 0.1};
                            }},
                    Variant{"EarlyStopping",
                            [](job::Training& training) {
                              training.epochs = 12;
                              training.optimizer.learning_rate = 0.1;
                              training.evaluation.patience = 1;
                            }},
                    Variant{"LearnableRows",
                            [](job::Training& training) {
                              training.inputs = {{"", {}, job::Embedding{.size = 5}}};
                              training.inputs[0].embedding->optimizer.learning_rate = 0.1;
                            }},
                    Variant{"RoundedLearnableRowsBesideFeatures",
                            [](job::Training& training) {
                              training.inputs[0].embedding = job::Embedding{.size = 3, .dtype = job::RowDType::kBf16};
                              training.inputs[0].embedding->optimizer.type = job::SparseOptimizerType::kAdam;
                              training.inputs[0].embedding->schedule = {job::ScheduleType::kCosine, 2, 10, 0.1};
                            }},
                    Variant{"LearnableRowsWithoutState",
                            [](job::Training& training) {
                              training.inputs = {{"", {}, job::Embedding{.size = 5}}};
                              training.inputs[0].embedding->optimizer.type = job::SparseOptimizerType::kSgd;
                              training.epochs = 12;
                              training.optimizer.learning_rate = 0.1;
                              training.evaluation.patience = 1;
                            }},
                    Variant{"SeldomSampledEvaluation",
                            [](job::Training& training) {
                              training.evaluation.every_epochs = 2;
                              training.evaluation.neighborhood = job::EvaluationNeighborhood::kSampled;
                            }}),
    [](const auto& variant) { return variant.param.name; });

TEST(ResumeTest, WritingCheckpointsChangesNoResult) {
  job::DistTraining job = TinyJob();
  const TrainOutcome whole = TrainTiny(job, {.trainers = 2});
  job.checkpoint.every_steps = 1;
  job.checkpoint.keep = 2;
  const Store store = NewStore();
  const TrainOutcome saved = TrainTiny(job, {.store = store, .trainers = 2});
  ExpectSame(saved, whole, "every step");
  EXPECT_EQ(saved.checkpoints.num_failed, 0u);
  EXPECT_GT(saved.checkpoints.snapshot_seconds, 0);
  const std::vector<std::string> left = Checkpoints(store);
  EXPECT_LE(left.size(), 3u);  // the newest two and the best
  EXPECT_EQ(left.back(), format::CheckpointFolderName({1, 3 * kStepsPerEpoch}));
}

TEST(ResumeTest, FallsBackFromACorruptNewest) {
  const job::DistTraining job = TinyJob();
  const TrainOutcome whole = TrainTiny(job, {});
  const Store store = NewStore();
  for (const uint64_t incarnation : {1u, 2u}) {
    EXPECT_TRUE(TrainTiny(job, {.store = store, .incarnation = incarnation, .stop_after = 2}).stopped());
  }
  const std::string key = std::string(kCheckpointsOfRuns) + "/000002-000000000004/model.safetensors";
  std::string bytes = *store->Get(key);
  bytes.back() ^= 1;
  ASSERT_TRUE(store->Delete(key).ok());
  ASSERT_TRUE(store->PutIfAbsent(key, std::as_bytes(std::span<const char>(bytes))).ok());
  uint64_t rest = 0;
  // The same incarnation again, which replaces the corrupt checkpoint.
  job::DistTraining saving = job;
  saving.checkpoint.every_steps = 4;
  const TrainOutcome resumed = TrainTiny(saving, {.store = store, .incarnation = 2, .num_steps = &rest});
  EXPECT_THAT(resumed.resumed_from, HasSubstr("000001-000000000002"));
  EXPECT_EQ(rest, 3 * kStepsPerEpoch - 2);
  EXPECT_EQ(resumed.checkpoints.num_failed, 0u);
  ExpectSame(resumed, whole, "after a fallback");
  Checkpoints(store);
}

TEST(ResumeTest, ResumesInChangedEnvironment) {
  const job::DistTraining job = TinyJob();
  const TrainOutcome whole = TrainTiny(job, {});
  const Store store = NewStore();
  EXPECT_TRUE(TrainTiny(job, {.store = store, .trainers = 1, .partitions = 2, .stop_after = 4}).stopped());
  // With one trainer, another partitioning does not change the results.
  ExpectSame(TrainTiny(job, {.store = store, .incarnation = 2, .partitions = 3}), whole, "3 partitions");
  uint64_t rest = 0;
  const TrainOutcome three = TrainTiny(job, {.store = store, .incarnation = 2, .trainers = 3, .num_steps = &rest});
  EXPECT_EQ(rest, 3 * kStepsPerEpoch - 4);
  ASSERT_EQ(three.loop.epochs.size(), 3u);
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_NEAR(three.loop.epochs[epoch].loss, whole.loop.epochs[epoch].loss, 1e-4);
  }
}

TEST(ResumeTest, ResumesExactlyInBf16AndInAnotherPrecision) {
  job::DistTraining job = TinyJob();
  const TrainOutcome in_f32 = TrainTiny(job);
  job.training.precision = job::Precision::kBf16;
  for (const uint32_t trainers : {1u, 2u}) {
    const TrainOutcome whole = TrainTiny(job, {.trainers = trainers});
    EXPECT_NE(whole.parameters_digest, in_f32.parameters_digest);
    const Store store = NewStore();
    EXPECT_TRUE(TrainTiny(job, {.store = store, .trainers = trainers, .stop_after = 4}).stopped());
    ExpectSame(TrainTiny(job, {.store = store, .incarnation = 2, .trainers = trainers}), whole, "BF16");
  }
  const Store store = NewStore();
  EXPECT_TRUE(TrainTiny(job, {.store = store, .stop_after = 4}).stopped());
  job.training.precision = job::Precision::kF32;
  const TrainOutcome mixed = TrainTiny(job, {.store = store, .incarnation = 2});
  ASSERT_EQ(mixed.loop.epochs.size(), 3u);
  EXPECT_NE(mixed.parameters_digest, in_f32.parameters_digest);
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_NEAR(mixed.loop.epochs[epoch].loss, in_f32.loop.epochs[epoch].loss, 2e-2);
  }
}

TEST(ResumeTest, LearnableRowsResumeOverOtherPartitions) {
  job::DistTraining job = TinyJob();
  job.training.inputs[0].embedding = job::Embedding{.size = 5};
  job.training.inputs[0].embedding->optimizer.learning_rate = 0.1;
  const TrainOutcome whole = TrainTiny(job, {.partitions = 1});
  const Store store = NewStore();
  EXPECT_TRUE(TrainTiny(job, {.store = store, .partitions = 2, .stop_after = 4}).stopped());
  ExpectSame(TrainTiny(job, {.store = store, .incarnation = 2, .partitions = 3}), whole, "3 partitions");
  job.training.inputs[0].embedding->optimizer.learning_rate = 0.2;
  const Status status = RunToError(job, {.store = store, .incarnation = 2});
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr(".embedding: the checkpoint has '5 F32; Uniform"));
}

TEST(ResumeTest, FinishedRunResumesWithEvaluation) {
  for (const int64_t patience : {0, 1}) {
    job::DistTraining job = TinyJob();
    job.training.evaluation.patience = patience;
    job.training.optimizer.learning_rate = 0.1;
    job.training.epochs = patience == 0 ? 2 : 12;
    job.checkpoint.every_epochs = 5;  // the end of training is always saved
    const Store store = NewStore();
    const TrainOutcome whole = TrainTiny(job, {.store = store});
    EXPECT_EQ(whole.loop.end, patience == 0 ? LoopEnd::kAllEpochs : LoopEnd::kEarlyStopping);
    uint64_t steps = 99;
    const TrainOutcome again = TrainTiny(job, {.store = store, .incarnation = 2, .num_steps = &steps});
    EXPECT_EQ(steps, 0u);
    ExpectSame(again, whole, "patience " + std::to_string(patience));
  }
}

TEST(ResumeTest, ResumesWithMoreEpochs) {
  job::DistTraining job = TinyJob();
  const TrainOutcome whole = TrainTiny(job, {});
  job.training.epochs = 2;
  job.checkpoint.every_epochs = 1;
  const Store store = NewStore();
  TrainTiny(job, {.store = store});
  job.training.epochs = 3;
  ExpectSame(TrainTiny(job, {.store = store, .incarnation = 2}), whole, "3 epochs after 2");
  job.training.epochs = 1;
  const Status status = RunToError(job, {.store = store, .incarnation = 2, .trainers = 2});
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("training.epochs: the checkpoint is in epoch 3"));
}

TEST(ResumeTest, NamesFieldsThatPreventResume) {
  job::DistTraining job = TinyJob();
  const Store store = NewStore();
  TrainTiny(job, {.store = store, .stop_after = 2});
  job.training.optimizer.learning_rate = 0.02;
  job.training.seed = 2;
  const Status status = RunToError(job, {.store = store, .incarnation = 2, .trainers = 2});
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("resuming from mem:///run/checkpoints/000001-000000000002"));
  EXPECT_THAT(status.message(), HasSubstr("training.optimizer.learningRate: the checkpoint has '0.01', this job has "
                                          "'0.02'; training.seed: the checkpoint has '1', this job has '2'"));
}

TEST(ResumeTest, StartsFromScratchIfRequested) {
  const job::DistTraining job = TinyJob();
  const TrainOutcome whole = TrainTiny(job, {});
  const Store store = NewStore();
  TrainTiny(job, {.store = store, .stop_after = 2});
  const Status status = RunToError(job, {.store = store, .resume = ResumeMode::kNever});
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("incarnation 1 has written checkpoints already"));
  uint64_t steps = 0;
  const Attempt anew{.store = store, .incarnation = 2, .resume = ResumeMode::kNever, .num_steps = &steps};
  ExpectSame(TrainTiny(job, anew), whole, "anew");
  EXPECT_EQ(steps, 3 * kStepsPerEpoch);
}

TEST(ResumeTest, StartsFromCheckpointOfDocumentWithoutOwn) {
  const job::DistTraining job = TinyJob();
  const TrainOutcome whole = TrainTiny(job, {});
  const Store theirs = NewStore(), own = NewStore();
  TrainTiny(job, {.store = theirs, .incarnation = 9, .stop_after = 2});
  for (const char* place : {"run", "run/checkpoints", "run/checkpoints/000009-000000000002"}) {
    const TrainOutcome resumed = TrainTiny(job, {.resume_from = {theirs, place}});
    EXPECT_THAT(resumed.resumed_from, HasSubstr("000009-000000000002")) << place;
    ExpectSame(resumed, whole, place);
  }
  TrainTiny(job, {.store = own, .stop_after = 3, .resume_from = {theirs, "run"}});
  const TrainOutcome resumed = TrainTiny(job, {.store = own, .incarnation = 2, .resume_from = {theirs, "run"}});
  EXPECT_THAT(resumed.resumed_from, HasSubstr("000001-000000000005"));
  ExpectSame(resumed, whole, "from its own");
  EXPECT_EQ(RunToError(job, {.resume_from = {theirs, "elsewhere"}}).code(), StatusCode::kNotFound);
}

class ResumeFailpointTest : public testing::Test {
 protected:
  ~ResumeFailpointTest() override { EXPECT_TRUE(ArmFailpoints("").ok()); }
};

TEST_F(ResumeFailpointTest, TrainingContinuesIfCheckpointCannotBeWritten) {
  job::DistTraining job = TinyJob();
  const TrainOutcome whole = TrainTiny(job, {});
  job.checkpoint.every_epochs = 1;
  const Store store = NewStore();
  ASSERT_TRUE(ArmFailpoints("checkpoint.before_manifest=error:UNAVAILABLE").ok());
  const TrainOutcome unsaved = TrainTiny(job, {.store = store});
  EXPECT_EQ(unsaved.checkpoints.num_written, 0u);
  EXPECT_GT(unsaved.checkpoints.num_failed, 0u);
  ExpectSame(unsaved, whole, "unsaved");
}

TEST_F(ResumeFailpointTest, StopWithoutCheckpointIsErrorOnAllRanks) {
  ASSERT_TRUE(ArmFailpoints("checkpoint.snapshot=error:RESOURCE_EXHAUSTED").ok());
  const Status status = RunToError(TinyJob(), {.store = NewStore(), .trainers = 2, .stop_after = 2});
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("writing the last checkpoint, 000001-000000000002"));
}

}  // namespace
}  // namespace espalier::trainer
