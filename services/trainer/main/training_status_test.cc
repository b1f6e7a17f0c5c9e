// Progress in /status and /metrics: with and without epochs, after a resume, and in every phase.
#include "services/trainer/main/training_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace espalier::trainer {
namespace {

job::DistTraining Job() {
  job::DistTraining job;
  job.name = "cora";
  return job;
}

TEST(TrainingStatusTest, HasNoProgressBeforeFirstStep) {
  telemetry::MetricRegistry metrics;
  const auto status = nlohmann::json::parse(TrainingStatus(Job(), "", 0, 2, 3, metrics).Json());
  EXPECT_EQ(status["job"], "cora");
  EXPECT_EQ(status["incarnation"], 3);
  EXPECT_FALSE(status.contains("percent"));
  EXPECT_FALSE(status.contains("uid"));
  EXPECT_FALSE(status.contains("warnings"));
}

TEST(TrainingStatusTest, ReportsWarningsBeforeFirstStep) {
  telemetry::MetricRegistry metrics;
  TrainingStatus training(Job(), "", 0, 1, 1, metrics);
  training.OnWarning("7 nodes have no label");
  training.OnWarning("class 3 does not occur");
  EXPECT_EQ(nlohmann::json::parse(training.Json())["warnings"],
            nlohmann::json({"7 nodes have no label", "class 3 does not occur"}));
}

// The alert EspalierJobStuck must not fire for a job without steps, so its progress is 1 from the start.
TEST(TrainingStatusTest, WithoutEpochsAllStepsAreDone) {
  telemetry::MetricRegistry metrics;
  job::DistTraining job = Job();
  job.training.epochs = 1;
  const TrainingStatus training(job, "", 0, 1, 1, metrics);
  EXPECT_THAT(metrics.Serialize(), testing::HasSubstr("espalier_trainer_progress_ratio 0\n"));

  telemetry::MetricRegistry others;
  job.training.epochs = 0;
  const TrainingStatus inference(job, "", 0, 1, 1, others);
  EXPECT_THAT(others.Serialize(), testing::HasSubstr("espalier_trainer_progress_ratio 1\n"));
  EXPECT_EQ(nlohmann::json::parse(inference.Json())["percent"], 100.0);
}

TEST(TrainingStatusTest, ReportsProgress) {
  telemetry::MetricRegistry metrics;
  TrainingStatus training(Job(), "5f1c", 0, 1, 1, metrics);
  EXPECT_THAT(metrics.Serialize(), testing::Not(testing::HasSubstr("espalier_trainer_loss_value")));
  training.OnStep({.epoch = 1,
                   .step = 4,
                   .num_epochs = 4,
                   .steps_per_epoch = 5,
                   .num_seeds = 32,
                   .seconds = {.sample = 0.5, .compute = 0.25}});
  EpochReport report;
  report.epoch = 1;
  report.loss = 0.25;
  report.validation = 0.75;
  training.OnEpoch(report);
  report.validation.reset();  // not evaluated: the last value remains
  training.OnEpoch(report);
  const auto status = nlohmann::json::parse(training.Json());
  EXPECT_EQ(status["percent"], 50.0);
  EXPECT_EQ(status["uid"], "5f1c");
  EXPECT_EQ(status["epochs"], 4);
  EXPECT_FALSE(status.contains("etaSeconds"));  // the duration of the first step is unknown
  EXPECT_EQ(status["metrics"]["loss"], 0.25);
  EXPECT_EQ(status["metrics"]["validationAccuracy"], 0.75);
  using testing::HasSubstr;
  EXPECT_THAT(
      metrics.Serialize(),
      testing::AllOf(HasSubstr("espalier_trainer_steps_total 1\n"), HasSubstr("espalier_trainer_seeds_total 32\n"),
                     HasSubstr("espalier_trainer_progress_ratio 0.5\n"),
                     HasSubstr("espalier_trainer_stage_seconds_total{stage=\"sample\"} 0.5\n"),
                     HasSubstr("espalier_trainer_stage_seconds_total{stage=\"compute\"} 0.25\n"),
                     HasSubstr("espalier_trainer_loss_value 0.25\n"),
                     HasSubstr("espalier_trainer_validation_value{metric=\"accuracy\"} 0.75\n")));
}

TEST(TrainingStatusTest, CountsOnlyCompletedEpochs) {
  telemetry::MetricRegistry metrics;
  TrainingStatus training(Job(), "", 0, 1, 1, metrics);
  EpochReport report;
  training.OnStep({.epoch = 0, .step = 1, .num_epochs = 4, .steps_per_epoch = 2});
  training.OnEpoch(report);
  EXPECT_THAT(metrics.Serialize(), testing::HasSubstr("espalier_trainer_epoch_count 1\n"));
  training.OnStep({.epoch = 1, .step = 0, .num_epochs = 4, .steps_per_epoch = 2});
  report.epoch = 1;
  training.OnEpoch(report);  // after a stop request in the middle of the epoch
  EXPECT_THAT(metrics.Serialize(), testing::HasSubstr("espalier_trainer_epoch_count 1\n"));
}

// A resumed run starts at the progress of its checkpoint and estimates the remaining time from its own steps.
TEST(TrainingStatusTest, ContinuesFromCheckpoint) {
  telemetry::MetricRegistry metrics;
  TrainingStatus training(Job(), "", 0, 1, 2, metrics);
  training.OnResumed({.epoch = 1, .step = 4, .num_epochs = 4, .steps_per_epoch = 5});
  EXPECT_THAT(metrics.Serialize(), testing::AllOf(testing::HasSubstr("espalier_trainer_progress_ratio 0.5\n"),
                                                  testing::HasSubstr("espalier_trainer_epoch_count 2\n"),
                                                  testing::HasSubstr("espalier_trainer_steps_total 0\n")));
  auto status = nlohmann::json::parse(training.Json());
  EXPECT_EQ(status["percent"], 50.0);
  EXPECT_FALSE(status.contains("etaSeconds"));
  training.OnStep({.epoch = 2, .step = 0, .num_epochs = 4, .steps_per_epoch = 5});
  status = nlohmann::json::parse(training.Json());
  EXPECT_DOUBLE_EQ(status["percent"].get<double>(), 55.0);
  EXPECT_FALSE(status.contains("seedsPerSecond"));  // the start time of the first step is unknown
  training.OnStep({.epoch = 2, .step = 1, .num_epochs = 4, .steps_per_epoch = 5, .num_seeds = 8});
  EXPECT_FALSE(status.contains("etaSeconds"));
  status = nlohmann::json::parse(training.Json());
  EXPECT_GT(status["seedsPerSecond"].get<double>(), 0.0);
  EXPECT_GT(status["etaSeconds"].get<double>(), 0.0);
}

// Regression test: during minutes of evaluation, the status showed training at 100 % with a falling rate.
TEST(TrainingStatusTest, ReportsPhaseAndRateOnlyWhileTraining) {
  telemetry::MetricRegistry metrics;
  TrainingStatus training(Job(), "", 0, 1, 1, metrics);
  const auto status = [&] { return nlohmann::json::parse(training.Json()); };
  EXPECT_FALSE(status().contains("phase"));
  training.OnPhase(RunPhase::kTraining, std::nullopt);
  EXPECT_EQ(status()["phase"], "Training");
  EXPECT_EQ(status()["phasePercent"], 0.0);
  const Timer whole;
  for (uint32_t step = 0; step < 2; ++step) {
    training.OnStep({.epoch = 0, .step = step, .num_epochs = 2, .steps_per_epoch = 2, .num_seeds = 8});
  }
  EXPECT_EQ(status()["phasePercent"], 50.0);
  const double rate = status()["seedsPerSecond"].get<double>();
  EXPECT_GT(rate, 0);
  EXPECT_EQ(status()["seedsPerSecond"].get<double>(), rate) << "time after the last step is no step's";

  const Timer evaluation;
  training.OnPhase(RunPhase::kEvaluating, 0.25);
  EXPECT_EQ(status()["phase"], "Evaluating");
  EXPECT_EQ(status()["phasePercent"], 25.0);
  EXPECT_EQ(status()["percent"], 50.0) << "of all steps, in every phase";
  EXPECT_FALSE(status().contains("seedsPerSecond"));
  while (evaluation.Seconds() < 0.02) {
  }
  const double evaluation_seconds = evaluation.Seconds();
  training.OnPhase(RunPhase::kTraining, std::nullopt);
  training.OnStep({.epoch = 1, .step = 0, .num_epochs = 2, .steps_per_epoch = 2, .num_seeds = 8});
  const double timed_seconds = 16 / status()["seedsPerSecond"].get<double>();
  EXPECT_LE(timed_seconds, whole.Seconds() - evaluation_seconds) << "an evaluation takes no step's time";
}

TEST(TrainingStatusTest, WritingMeansNoRemainingSteps) {
  telemetry::MetricRegistry metrics;
  TrainingStatus training(Job(), "", 0, 1, 1, metrics);
  training.OnStep({.epoch = 0, .step = 1, .num_epochs = 4, .steps_per_epoch = 2});
  training.OnPhase(RunPhase::kWriting, std::nullopt);
  const auto status = nlohmann::json::parse(training.Json());
  EXPECT_EQ(status["phase"], "Writing");
  EXPECT_FALSE(status.contains("phasePercent"));
  EXPECT_EQ(status["percent"], 25.0);
  EXPECT_EQ(status["etaSeconds"], 0.0);
}

TEST(TrainingStatusTest, CompletedRunHasNoRemainingTime) {
  telemetry::MetricRegistry metrics;
  TrainingStatus training(Job(), "", 0, 1, 2, metrics);
  training.OnResumed({.epoch = 3, .step = 4, .num_epochs = 4, .steps_per_epoch = 5});
  EXPECT_THAT(metrics.Serialize(), testing::HasSubstr("espalier_trainer_progress_ratio 1\n"));
  const auto status = nlohmann::json::parse(training.Json());
  EXPECT_EQ(status["percent"], 100.0);
  EXPECT_EQ(status["etaSeconds"], 0.0);
}

}  // namespace
}  // namespace espalier::trainer
