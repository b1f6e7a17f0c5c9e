// Tests attention on a block of four destinations, one of them without edges, against the formulas, and gradients
// against finite differences.
#include "services/kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "services/base/philox.h"

namespace espalier::kernels {
namespace {

constexpr int64_t kHeads = 2, kColumns = 3, kSources = 5, kDestinations = 4, kEdges = 7;
constexpr HeadShape kShape{kHeads, kColumns};
constexpr float kSlope = 0.2f;
const std::vector<uint32_t> kIndptr{0, 3, 3, 5, 7}, kIndices{0, 1, 4, 2, 0, 3, 4};

std::vector<float> Random(int64_t count, uint64_t stream) {
  PhiloxStream random(3, stream);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.NextBelow(4001)) / 1000 - 2);
  return values;
}

struct Edges {
  TransposedSegments transposed = Transpose({kIndptr, kIndices}, kSources, EdgePositions::kKeep);
  EdgeView view() const {
    return {{kIndptr, kIndices}, {transposed.indptr, transposed.destinations}, transposed.positions};
  }
};

std::vector<float> WeightsOf(const std::vector<float>& scores) {
  std::vector<float> weights(kEdges * kHeads);
  SoftmaxOverSegments({kIndptr, kIndices}, kHeads, scores.data(), weights.data());
  return weights;
}

TEST(AttentionTest, WeightsOfADestinationAddUpToOne) {
  const std::vector<float> scores = Random(kEdges * kHeads, 1), weights = WeightsOf(scores);
  for (int64_t d = 0; d < kDestinations; ++d) {
    for (int64_t h = 0; h < kHeads; ++h) {
      double sum = 0;
      for (uint32_t e = kIndptr[d]; e < kIndptr[d + 1]; ++e) sum += std::exp(double{scores[e * kHeads + h]});
      for (uint32_t e = kIndptr[d]; e < kIndptr[d + 1]; ++e) {
        EXPECT_NEAR(weights[e * kHeads + h], std::exp(double{scores[e * kHeads + h]}) / sum, 1e-6);
      }
    }
  }
}

TEST(AttentionTest, AddsUpWeightedRows) {
  const std::vector<float> source = Random(kSources * kShape.width(), 2), weights = Random(kEdges * kHeads, 3);
  std::vector<float> out(kDestinations * kShape.width(), -1);
  WeightedSums({kIndptr, kIndices}, {}, kShape, weights.data(), source.data(), out.data());
  for (int64_t d = 0; d < kDestinations; ++d) {
    for (int64_t at = 0; at < kShape.width(); ++at) {
      double expected = 0;
      for (uint32_t e = kIndptr[d]; e < kIndptr[d + 1]; ++e) {
        expected += double{weights[e * kHeads + at / kColumns]} * source[kIndices[e] * kShape.width() + at];
      }
      EXPECT_NEAR(out[d * kShape.width() + at], expected, 1e-5);
    }
  }
}

TEST(AttentionTest, WeightsAreTakenByPosition) {
  const Edges edges;
  const EdgeView view = edges.view();
  const std::vector<float> rows = Random(kDestinations * kShape.width(), 7), weights = Random(kEdges * kHeads, 8);
  std::vector<float> out(kSources * kShape.width(), -1), expected(out.size(), 0);
  WeightedSums(view.by_source, view.positions, kShape, weights.data(), rows.data(), out.data());
  for (int64_t d = 0; d < kDestinations; ++d) {
    for (uint32_t e = kIndptr[d]; e < kIndptr[d + 1]; ++e) {
      for (int64_t at = 0; at < kShape.width(); ++at) {
        expected[kIndices[e] * kShape.width() + at] +=
            weights[e * kHeads + at / kColumns] * rows[d * kShape.width() + at];
      }
    }
  }
  for (size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], expected[i], 1e-5) << i;
}

TEST(AttentionTest, DotsAreOfBothEndpoints) {
  const std::vector<float> source = Random(kSources * kShape.width(), 9),
                           destination = Random(kDestinations * kShape.width(), 10);
  std::vector<float> dots(kEdges * kHeads, -1);
  EdgeDots({kIndptr, kIndices}, kShape, source.data(), destination.data(), dots.data());
  for (int64_t d = 0; d < kDestinations; ++d) {
    for (uint32_t e = kIndptr[d]; e < kIndptr[d + 1]; ++e) {
      for (int64_t h = 0; h < kHeads; ++h) {
        double expected = 0;
        for (int64_t at = h * kColumns; at < (h + 1) * kColumns; ++at) {
          expected += double{source[kIndices[e] * kShape.width() + at]} * destination[d * kShape.width() + at];
        }
        EXPECT_NEAR(dots[e * kHeads + h], expected, 1e-5);
      }
    }
  }
}

TEST(AttentionTest, MasksFollowOriginalIdsOfBothEndpoints) {
  const std::vector<int64_t> source_ids{11, 12, 13, 14, 15}, destination_ids{21, 22, 23, 24};
  constexpr int64_t kManyHeads = 11;  // more than the half-words of a Philox block
  std::vector<float> factors(kEdges * kManyHeads, -1), moved(factors.size(), -1);
  EdgeDropoutFactors({kIndptr, kIndices}, kManyHeads, {0.5, 7, source_ids.data(), destination_ids.data()},
                     factors.data());
  EXPECT_GT(std::count(factors.begin(), factors.end(), 0.0f), 20);
  EXPECT_GT(std::count(factors.begin(), factors.end(), 2.0f), 20);
  // The same edges where sources have other rows.
  const std::vector<uint32_t> indices{4, 3, 0, 2, 4, 1, 0};
  const std::vector<int64_t> moved_ids(source_ids.rbegin(), source_ids.rend());
  EdgeDropoutFactors({kIndptr, indices}, kManyHeads, {0.5, 7, moved_ids.data(), destination_ids.data()}, moved.data());
  EXPECT_EQ(factors, moved);
}

// Returns the sum of all scores, each multiplied by its gradient.
double Objective(const std::vector<float>& source, const std::vector<float>& destination,
                 const std::vector<float>& gradient) {
  std::vector<float> scores(kEdges * kHeads);
  AdditiveScores({kIndptr, kIndices}, kHeads, kSlope, source.data(), destination.data(), scores.data());
  double sum = 0;
  for (size_t i = 0; i < scores.size(); ++i) sum += double{scores[i]} * gradient[i];
  return sum;
}

TEST(AttentionTest, GradientsMatchFiniteDifferences) {
  const std::vector<float> gradient = Random(kEdges * kHeads, 6);
  std::vector<float> source = Random(kSources * kHeads, 4), destination = Random(kDestinations * kHeads, 5);
  std::vector<float> slopes(kEdges * kHeads), of_source(source.size()), of_destination(destination.size());
  AdditiveScoreGradients(Edges().view(), kHeads, kSlope, source.data(), destination.data(), gradient.data(),
                         slopes.data(), of_source.data(), of_destination.data());
  constexpr float kStep = 1.0f / 1024;
  const auto check = [&](std::vector<float>& values, const std::vector<float>& gradients) {
    for (size_t i = 0; i < values.size(); ++i) {
      const float value = values[i];
      values[i] = value + kStep;
      const double above = Objective(source, destination, gradient);
      values[i] = value - kStep;
      const double below = Objective(source, destination, gradient);
      values[i] = value;
      EXPECT_NEAR(gradients[i], (above - below) / (2 * kStep), 1e-2) << i;
    }
  };
  check(source, of_source);
  check(destination, of_destination);
}

}  // namespace
}  // namespace espalier::kernels
