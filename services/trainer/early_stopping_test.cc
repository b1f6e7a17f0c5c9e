#include "services/trainer/early_stopping.h"

#include <gtest/gtest.h>

#include <limits>

namespace espalier::trainer {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(EarlyStoppingTest, StopsAfterPatience) {
  EarlyStopping stopping(/*higher_is_better=*/true, /*patience=*/2);
  EXPECT_FALSE(stopping.should_stop());
  EXPECT_TRUE(stopping.Record(0, 0.5));
  EXPECT_FALSE(stopping.Record(1, 0.4));
  EXPECT_FALSE(stopping.should_stop());
  EXPECT_TRUE(stopping.Record(2, 0.6));
  EXPECT_FALSE(stopping.Record(3, 0.6)) << "of equal ones the first is the best";
  EXPECT_FALSE(stopping.should_stop());
  EXPECT_FALSE(stopping.Record(4, 0.1));
  EXPECT_TRUE(stopping.should_stop());
  EXPECT_EQ(stopping.best_epoch(), 2u);
  EXPECT_EQ(stopping.best_value(), 0.6);
}

TEST(EarlyStoppingTest, NeverStopsWithoutPatience) {
  EarlyStopping stopping(/*higher_is_better=*/true, /*patience=*/0);
  for (uint32_t epoch = 0; epoch < 100; ++epoch) stopping.Record(epoch, 1.0 / (1 + epoch));
  EXPECT_FALSE(stopping.should_stop());
  EXPECT_EQ(stopping.best_epoch(), 0u);
}

TEST(EarlyStoppingTest, MinimizesErrorMetrics) {
  EarlyStopping stopping(/*higher_is_better=*/false, /*patience=*/1);
  EXPECT_TRUE(stopping.Record(0, 3));
  EXPECT_TRUE(stopping.Record(1, 2));
  EXPECT_FALSE(stopping.Record(2, 2.5));
  EXPECT_EQ(stopping.best_epoch(), 1u);
}

TEST(EarlyStoppingTest, AnyNumberBeatsNaN) {
  for (const bool higher_is_better : {false, true}) {
    EarlyStopping stopping(higher_is_better, /*patience=*/9);
    EXPECT_TRUE(stopping.Record(0, kNaN)) << "better than nothing";
    EXPECT_FALSE(stopping.Record(1, kNaN));
    EXPECT_TRUE(stopping.Record(2, 0.25));
    EXPECT_FALSE(stopping.Record(3, kNaN));
    EXPECT_EQ(stopping.best_epoch(), 2u);
  }
}

TEST(EarlyStoppingTest, ResumesWithTheStateOfACheckpoint) {
  EarlyStopping before(/*higher_is_better=*/true, /*patience=*/2);
  before.Record(0, 0.5);
  before.Record(1, 0.4);
  EarlyStopping after(/*higher_is_better=*/true, /*patience=*/2);
  after.ResumeFrom(before.best_epoch(), before.best_value(), before.evaluations_since_best());
  EXPECT_FALSE(after.Record(2, 0.45));
  EXPECT_TRUE(after.should_stop());
  EXPECT_EQ(after.best_epoch(), 0u);
}

}  // namespace
}  // namespace espalier::trainer
