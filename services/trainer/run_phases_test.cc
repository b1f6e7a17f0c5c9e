// The phases that a run reports, and the work that each of them counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/trainer/testing/community.h"
#include "services/trainer/testing/process_folder.h"
#include "services/trainer/testing/small_runs.h"

namespace espalier::trainer {
namespace {

using testing::ElementsAre;

job::DistTraining TwoEpochs() {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 2;
  job.output_save = {job::OutputKind::kModel, job::OutputKind::kEmbeddings, job::OutputKind::kPredictions};
  return job;
}

std::string NewFolder() {
  return FolderOfThisProcess() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
}

TEST(RunPhasesTest, EvaluationEmbeddingsAndFilesAreNotTraining) {
  std::vector<PhaseReport> reports;
  TrainSmall(CommunityGraph(), TwoEpochs(), {.partitions = 2, .output = NewFolder(), .phases = &reports});
  EXPECT_THAT(PhaseNames(reports), ElementsAre("Training", "Evaluating", "Training", "Evaluating",  // two epochs
                                               "Writing",                                           // models
                                               "Evaluating",                                        // the best model
                                               "Writing",                                           // embeddings
                                               "Embedding", "Writing"));                            // predictions
  ExpectExactFractions(reports);
  // 600 nodes in chunks of 16, and the nodes of a part of the split.
  const auto is_evaluating = [](const PhaseReport& report) { return report.phase == RunPhase::kEvaluating; };
  EXPECT_GT(std::count_if(reports.begin(), reports.end(), is_evaluating), 3 * 600 / 16);
}

TEST(RunPhasesTest, SampledMetricsAreCountedToo) {
  job::DistTraining job = TwoEpochs();
  job.training.evaluation.neighborhood = job::EvaluationNeighborhood::kSampled;
  std::vector<PhaseReport> reports;
  TrainSmall(CommunityGraph(), job, {.output = NewFolder(), .phases = &reports});
  EXPECT_THAT(PhaseNames(reports), ElementsAre("Training", "Evaluating", "Training", "Evaluating", "Writing",
                                               "Evaluating", "Embedding", "Writing", "Embedding", "Writing"));
  ExpectExactFractions(reports);
}

TEST(RunPhasesTest, InferenceHasNoTrainingPhase) {
  job::DistTraining job = TwoEpochs();
  job.output_save = {job::OutputKind::kModel};
  const std::string folder = NewFolder();
  TrainSmall(CommunityGraph(), job, {.output = folder});
  job.training.epochs = 0;
  job.training.model.uri = folder + "/results/000001/model/best.safetensors";
  std::vector<PhaseReport> reports;
  TrainSmall(CommunityGraph(), job, {.phases = &reports});
  EXPECT_THAT(PhaseNames(reports), ElementsAre("Writing", "Evaluating", "Writing"));
}

// Rank 0 estimates the chunks of the other ranks from its own progress. The fraction must end at 1 and not exceed it.
TEST(RunPhasesTest, SeveralTrainersShareThePercentage) {
  std::vector<PhaseReport> reports;
  TrainSmall(CommunityGraph(), TwoEpochs(), {.partitions = 2, .trainers = 3, .phases = &reports});
  EXPECT_THAT(PhaseNames(reports), testing::Contains("Evaluating"));
  for (size_t i = 0; i < reports.size(); ++i) {
    const bool ends = i + 1 == reports.size() || reports[i + 1].phase != reports[i].phase;
    if (reports[i].phase != RunPhase::kEvaluating || !ends) continue;
    EXPECT_EQ(reports[i].fraction, 1) << i;
  }
}

}  // namespace
}  // namespace espalier::trainer
