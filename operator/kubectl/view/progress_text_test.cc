#include "operator/kubectl/view/progress_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kubectl/view/painter.h"
#include "operator/kubectl/view/testing/jobs.h"

namespace espalier::ctl::view {
namespace {

using kube::Json;
using std::chrono::seconds;

api::DistTraining At(double percent, seconds after, int64_t incarnation = 1) {
  api::DistTraining training = testing::Parsed(testing::TrainingJobJson());
  training.status.incarnation = incarnation;
  training.status.progress->percent = percent;
  training.status.progress->last_updated = testing::Now() + after;
  return training;
}

TEST(ProgressTextTest, ShowsPercentAndRemainingTime) {
  const api::DistTraining training = testing::Parsed(testing::TrainingJobJson());
  EXPECT_EQ(ProgressText(training, WithBar::kYes, 2.5, testing::Now()),
            "[===========>                ] 42.5 %  epoch 4 of 10  4 min 10 s left  2.5 epochs/min  (10s ago)");
  EXPECT_EQ(MetricsText(*training.status.progress), "loss 0.5213  validationAccuracy 0.79");
  EXPECT_EQ(RolesText(training.status), "server 2/2  trainer 2/2");
}

TEST(ProgressTextTest, ShowsPhaseAfterLastStep) {
  api::DistTraining training = testing::Parsed(testing::TrainingJobJson());
  api::Progress& progress = *training.status.progress;
  progress.percent = 100;
  progress.epoch = 10;
  progress.eta_seconds = 0;
  progress.phase = "Embedding";
  progress.phase_percent = 40;
  EXPECT_EQ(ProgressText(training, WithBar::kNo, 2.5, testing::Now()),
            "100.0 %  epoch 10 of 10  embedding 40.0 %  (10s ago)");
  progress.phase = api::kTrainingPhase;
  EXPECT_EQ(ProgressText(training, WithBar::kNo, 2.5, testing::Now()),
            "100.0 %  epoch 10 of 10  2.5 epochs/min  (10s ago)");
}

TEST(ProgressTextTest, EndedJobHasNoRemainingTime) {
  EXPECT_EQ(ProgressText(testing::Parsed(testing::SucceededJobJson()), WithBar::kNo, 2.5, testing::Now()),
            "100.0 %  epoch 10 of 10");
}

TEST(ProgressTextTest, OmitsAgeWithoutTime) {
  api::DistTraining training = testing::Parsed(testing::TrainingJobJson());
  training.status.progress->last_updated = {};
  EXPECT_EQ(ProgressText(training, WithBar::kNo, std::nullopt, testing::Now()),
            "42.5 %  epoch 4 of 10  4 min 10 s left");
}

TEST(EpochRateTest, IsMeasuredFromFirstReportOfIncarnation) {
  EpochRate rate;
  rate.Observe(At(10, seconds(0)));
  EXPECT_FALSE(rate.epochs_per_minute().has_value());
  rate.Observe(At(10, seconds(15)));
  EXPECT_FALSE(rate.epochs_per_minute().has_value());
  rate.Observe(At(20, seconds(30)));
  EXPECT_DOUBLE_EQ(*rate.epochs_per_minute(), 2.0);  // 10 % of 10 epochs in half a minute
  rate.Observe(At(40, seconds(60)));
  EXPECT_DOUBLE_EQ(*rate.epochs_per_minute(), 3.0);

  api::DistTraining evaluating = At(40, seconds(75));
  evaluating.status.progress->phase = "Evaluating";
  rate.Observe(evaluating);
  EXPECT_DOUBLE_EQ(*rate.epochs_per_minute(), 3.0) << "time without steps";

  rate.Observe(At(30, seconds(90), /*incarnation=*/2));
  EXPECT_FALSE(rate.epochs_per_minute().has_value());
  rate.Observe(At(25, seconds(100), 2));  // resumed from an older checkpoint
  EXPECT_FALSE(rate.epochs_per_minute().has_value());
}

TEST(LeadingConditionTest, IsBlockerOrResult) {
  api::Status status;
  EXPECT_EQ(LeadingCondition(status), nullptr);
  const auto set = [&](const char* type, api::ConditionStatus value) {
    api::SetCondition(&status, {.type = type, .status = value}, testing::Now());
    return std::string(LeadingCondition(status)->type);
  };
  using enum api::ConditionStatus;
  EXPECT_EQ(set(api::kAccepted, kFalse), api::kAccepted);
  EXPECT_EQ(set(api::kAccepted, kTrue), api::kAccepted);
  EXPECT_EQ(set(api::kTrainersReady, kFalse), api::kTrainersReady);
  EXPECT_EQ(set(api::kServersReady, kFalse), api::kServersReady);
  EXPECT_EQ(set(api::kServersReady, kTrue), api::kTrainersReady);
  EXPECT_EQ(set(api::kRestarting, kTrue), api::kRestarting);
  EXPECT_EQ(set(api::kSuspended, kTrue), api::kSuspended);
  EXPECT_EQ(set(api::kFailed, kTrue), api::kFailed);
}

TEST(PainterTest, RedrawsInPlaceAndNeverWraps) {
  std::string written;
  text::Output out;
  out.columns = [] { return 10; };
  out.write = [&](std::string_view text) {
    written = text;
    return Status();
  };
  Painter painter(out);
  ASSERT_TRUE(painter.Paint({"one", "a line that is long"}).ok());
  EXPECT_EQ(written, "\r\033[Kone\n\r\033[Ka line th…\n\033[J");
  ASSERT_TRUE(painter.Paint({"two"}).ok());
  EXPECT_EQ(written, "\033[2A\r\033[Ktwo\n\033[J");
  ASSERT_TRUE(painter.Paint({"three"}).ok());
  EXPECT_EQ(written, "\033[1A\r\033[Kthree\n\033[J");
}

}  // namespace
}  // namespace espalier::ctl::view
