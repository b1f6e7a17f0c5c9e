#include "operator/controller/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::controller {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TrainingRecord Record(const std::string& name, const std::string& phase, int64_t incarnation = 0) {
  TrainingRecord record;
  record.meta.key = {"ml", name};
  record.phase = phase;
  record.incarnation = incarnation;
  return record;
}

std::string Info(const std::string& name, const std::string& phase) {
  return "espalier_operator_job_info{job_name=\"" + name + "\",job_namespace=\"ml\",phase=\"" + phase + "\"} 1\n";
}

TEST(ControllerMetricsTest, FollowEachJobThroughItsPhases) {
  telemetry::MetricRegistry registry;
  ControllerMetrics metrics(registry);
  const TrainingRecord fresh = Record("cora", ""), training = Record("cora", "Training", 1);
  const TrainingRecord other = Record("kg", "Failed", 4);

  metrics.OnTraining(nullptr, &fresh);
  metrics.OnTraining(nullptr, &other);
  EXPECT_THAT(registry.Serialize(), HasSubstr(Info("cora", "Pending")));
  const TrainingRecord pending = Record("cora", "Pending");
  metrics.OnTraining(&fresh, &pending);
  EXPECT_THAT(registry.Serialize(), HasSubstr(Info("cora", "Pending")));
  metrics.OnTraining(&pending, &training);

  const std::string text = registry.Serialize();
  EXPECT_THAT(text, HasSubstr(Info("cora", "Training")));
  EXPECT_THAT(text, Not(HasSubstr(Info("cora", "Pending"))));
  EXPECT_THAT(text, HasSubstr(Info("kg", "Failed")));
  EXPECT_THAT(text, HasSubstr("espalier_operator_jobs_count{phase=\"Training\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("espalier_operator_jobs_count{phase=\"Pending\"} 0\n"));
}

TEST(ControllerMetricsTest, CountTrainerGroupsByJob) {
  telemetry::MetricRegistry registry;
  ControllerMetrics metrics(registry);
  const TrainingRecord first = Record("cora", "Training", 1), second = Record("cora", "Training", 2);
  metrics.OnTraining(nullptr, &first);
  metrics.OnTraining(&first, &second);
  EXPECT_THAT(registry.Serialize(),
              HasSubstr("espalier_operator_job_incarnation_count{job_name=\"cora\",job_namespace=\"ml\"} 2\n"));
}

TEST(ControllerMetricsTest, IgnoreJobsOfOtherControllers) {
  telemetry::MetricRegistry registry;
  ControllerMetrics metrics(registry);
  const TrainingRecord others = *ParseTrainingRecord({{"metadata", {{"name", "cora"}, {"namespace", "ml"}}},
                                                      {"spec", {{"runPolicy", {{"managedBy", "example.com/queue"}}}}}});
  metrics.OnTraining(nullptr, &others);
  metrics.OnTraining(&others, &others);
  EXPECT_THAT(registry.Serialize(), Not(HasSubstr("cora")));
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_operator_jobs_count{phase=\"Pending\"} 0\n"));
  metrics.OnTraining(&others, nullptr);
  EXPECT_THAT(registry.Serialize(), HasSubstr("espalier_operator_jobs_count{phase=\"Pending\"} 0\n"));

  const TrainingRecord ours = *ParseTrainingRecord({{"metadata", {{"name", "cora"}, {"namespace", "ml"}}},
                                                    {"spec", {{"runPolicy", {{"managedBy", api::kOperatorName}}}}}});
  metrics.OnTraining(nullptr, &ours);
  EXPECT_THAT(registry.Serialize(), HasSubstr(Info("cora", "Pending")));
}

TEST(ControllerMetricsTest, RemoveDeletedJobs) {
  telemetry::MetricRegistry registry;
  ControllerMetrics metrics(registry);
  const TrainingRecord gone = Record("cora", "Succeeded", 1);
  metrics.OnTraining(nullptr, &gone);
  metrics.OnTraining(&gone, nullptr);
  EXPECT_THAT(registry.Serialize(), Not(HasSubstr("cora")));
}

}  // namespace
}  // namespace espalier::ctl::controller
