#include "services/trainer/evaluation/ranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "services/trainer/evaluation/metrics.h"

namespace espalier::trainer {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

TEST(RankingTest, RankIsOneMoreThanHigherScores) {
  const std::vector<float> candidates = {5, 1, 3, 2};
  EXPECT_EQ(ComputeRank(4, candidates, {}), 2);
  EXPECT_EQ(ComputeRank(6, candidates, {}), 1);
  EXPECT_EQ(ComputeRank(0, candidates, {}), 5);
  EXPECT_EQ(ComputeRank(0, {}, {}), 1);
}

TEST(RankingTest, TiesShareAverageRank) {
  EXPECT_EQ(ComputeRank(1, std::vector<float>{1, 1, 1, 1}, {}), 3);  // mean of the ranks 1 to 5
  EXPECT_EQ(ComputeRank(1, std::vector<float>{2, 1, 0}, {}), 2.5);   // mean of the ranks 2 and 3
}

TEST(RankingTest, ExcludedCandidatesAreIgnored) {
  const std::vector<float> candidates = {5, 4, 3, 3};
  const std::vector<uint8_t> counts = {0, 1, 0, 1};
  EXPECT_EQ(ComputeRank(3, candidates, counts), 2.5);
}

TEST(RankingTest, NanScoresHaveNoRank) {
  EXPECT_TRUE(std::isnan(ComputeRank(kNotANumber, std::vector<float>{1, 2}, {})));
  EXPECT_TRUE(std::isnan(ComputeRank(kNotANumber, {}, {})));
  EXPECT_TRUE(std::isnan(ComputeRank(7, std::vector<float>{kNotANumber, 2}, {})));
  const std::vector<uint8_t> counts = {0, 1};
  EXPECT_EQ(ComputeRank(7, std::vector<float>{kNotANumber, 8}, counts), 2);
  for (const auto metric : {job::Metric::kMrr, job::Metric::kHitsAtK}) {
    MetricAccumulator accumulator(metric, 1);
    accumulator.AddRanks(0, std::vector<double>{1, std::nan("")}, 3);
    EXPECT_EQ(accumulator.Value().status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(RankingTest, BlocksOfCandidatesAddUp) {
  RankCounter counter(3);
  counter.Add(std::vector<float>{5, 3, 1});
  counter.Add(std::vector<float>{4, 3, 3});
  EXPECT_EQ(counter.Rank(), 1 + 2 + 1.5);
  counter.Remove(5);
  counter.Remove(3);
  counter.Remove(1);
  EXPECT_EQ(counter.Rank(), 1 + 1 + 1);
}

TEST(RankingTest, MeansMatchHandComputation) {
  const std::vector<double> ranks = {1, 2.5, 4, 20};
  EXPECT_DOUBLE_EQ(MeanReciprocalRank(ranks), (1 + 0.4 + 0.25 + 0.05) / 4);
  EXPECT_DOUBLE_EQ(HitsAtK(ranks, 1), 0.25);
  EXPECT_DOUBLE_EQ(HitsAtK(ranks, 3), 0.5);
  EXPECT_DOUBLE_EQ(HitsAtK(ranks, 20), 1);
  EXPECT_EQ(MeanReciprocalRank({}), 0);
  EXPECT_EQ(HitsAtK({}, 3), 0);
}

TEST(RankingTest, AccumulatesChunksByTheirSizes) {
  for (const auto metric : {job::Metric::kMrr, job::Metric::kHitsAtK}) {
    MetricAccumulator accumulator(metric, 1);
    EXPECT_EQ(accumulator.Value().status().code(), StatusCode::kFailedPrecondition);
    accumulator.AddRanks(1, std::vector<double>{4}, 3);
    accumulator.AddRanks(0, std::vector<double>{1, 2}, 3);
    EXPECT_DOUBLE_EQ(*accumulator.Value(), metric == job::Metric::kMrr ? 1.75 / 3 : 2.0 / 3);
  }
}

}  // namespace
}  // namespace espalier::trainer
