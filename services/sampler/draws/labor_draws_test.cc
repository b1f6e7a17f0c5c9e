// LABOR draws compared with enumeration, their marginal distribution, and their purpose: nodes with common neighbors
// draw the same ones.
#include "services/sampler/draws/labor_draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "services/sampler/draws/draw_words.h"

namespace espalier::sampler {
namespace {

using ::testing::ElementsAre;

std::vector<uint64_t> Sources(uint64_t first, size_t count) {
  std::vector<uint64_t> sources(count);
  std::iota(sources.begin(), sources.end(), first);
  return sources;
}

std::vector<uint32_t> Draw(uint64_t key, const std::vector<uint64_t>& sources, uint32_t count,
                           const std::vector<uint32_t>& prefix_sums = {}) {
  LaborDraws draws(key);
  std::vector<uint32_t> positions(count);
  const auto fill = [&](uint32_t first, std::span<uint64_t> ids) {
    std::copy_n(sources.begin() + first, ids.size(), ids.begin());
  };
  positions.resize(draws.Draw(static_cast<uint32_t>(sources.size()), fill, prefix_sums, count, positions.data()));
  return positions;
}

std::vector<uint32_t> PrefixSums(const std::vector<uint32_t>& weights) {
  std::vector<uint32_t> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  return sums;
}

TEST(LaborVariateTest, IsFirstTwoWordsOfSourceStream) {
  for (const uint64_t source : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 40}) {
    EXPECT_EQ(LaborVariate(11, source), uint64_t{DrawWord(11, source, 0)} << 32 | DrawWord(11, source, 1));
  }
}

TEST(LaborDrawsTest, TakesTheSmallestVariates) {
  for (const size_t degree : {3u, 9u, 50u, 127u, 128u, 129u, 1000u, 5000u}) {
    const std::vector<uint64_t> sources = Sources(5 * degree, degree);
    for (const uint32_t count : {1u, 2u, 10u, 40u, 900u}) {
      if (count >= degree) continue;
      std::vector<uint32_t> by_variate(degree);
      std::iota(by_variate.begin(), by_variate.end(), 0u);
      std::sort(by_variate.begin(), by_variate.end(),
                [&](uint32_t a, uint32_t b) { return LaborVariate(3, sources[a]) < LaborVariate(3, sources[b]); });
      by_variate.resize(count);
      std::sort(by_variate.begin(), by_variate.end());
      EXPECT_EQ(Draw(3, sources, count), by_variate) << count << " of " << degree;
    }
  }
}

TEST(LaborDrawsTest, ParallelEdgesAreTakenInOrder) {
  const std::vector<uint64_t> sources = {4, 4, 4, 4, 4};
  EXPECT_THAT(Draw(1, sources, 2), ElementsAre(0, 1));
}

// Every subset of a row is equally likely, as without LABOR: 10 subsets of 2 of 5.
TEST(LaborDrawsTest, OneRowIsDrawnUniformly) {
  constexpr int kKeys = 20'000;
  std::map<std::vector<uint32_t>, int> times;
  for (int key = 0; key < kKeys; ++key) ++times[Draw(static_cast<uint64_t>(key), Sources(100, 5), 2)];
  ASSERT_EQ(times.size(), 10u);
  double chi_square = 0;
  for (const auto& [subset, count] : times) {
    chi_square += (count - kKeys / 10.0) * (count - kKeys / 10.0) / (kKeys / 10.0);
  }
  EXPECT_LT(chi_square, 27.9);  // 9 degrees of freedom, p = 0.001
}

// Two nodes with many common sources: of 10 sources that each draws, independent draws would share 2, LABOR draws share
// nearly all.
TEST(LaborDrawsTest, NodesWithCommonSourcesAgree) {
  std::vector<uint64_t> first = Sources(0, 50), second = Sources(5, 50);
  int common = 0;
  for (uint64_t key = 0; key < 200; ++key) {
    std::set<uint64_t> drawn;
    for (const uint32_t position : Draw(key, first, 10)) drawn.insert(first[position]);
    for (const uint32_t position : Draw(key, second, 10)) common += drawn.contains(second[position]) ? 1 : 0;
  }
  EXPECT_GT(common / 200.0, 8);
}

TEST(LaborDrawsTest, WeightsDivideTheVariates) {
  const std::vector<uint32_t> weights = {5, 0, 1, 90, 0, 3, 1, 1, 40, 2};
  const std::vector<uint64_t> sources = Sources(70, weights.size());
  std::vector<double> times(weights.size());
  constexpr int kKeys = 4000;
  for (int key = 0; key < kKeys; ++key) {
    const std::vector<uint32_t> drawn = Draw(static_cast<uint64_t>(key), sources, 1, PrefixSums(weights));
    ASSERT_EQ(drawn.size(), 1u);
    const auto smallest = [&](uint32_t a, uint32_t b) {
      return static_cast<long double>(LaborVariate(static_cast<uint64_t>(key), sources[a])) / weights[a] <
             static_cast<long double>(LaborVariate(static_cast<uint64_t>(key), sources[b])) / weights[b];
    };
    for (uint32_t other = 0; other < weights.size(); ++other) {
      EXPECT_TRUE(weights[other] == 0 || other == drawn[0] || smallest(drawn[0], other)) << key;
    }
    times[drawn[0]] += 1;
  }
  EXPECT_EQ(times[1] + times[4], 0);
  EXPECT_GT(times[3], times[8]);
  EXPECT_GT(times[8], times[0]);
}

// More weights than candidates that are kept at a time, in an order in which each new candidate is better than all
// earlier ones.
TEST(LaborDrawsTest, LongWeightedRowMatchesEnumeration) {
  constexpr uint32_t kDegree = 3000, kCount = 7;
  std::vector<uint32_t> weights(kDegree), by_quotient;
  for (uint32_t i = 0; i < kDegree; ++i) weights[i] = i % 4 == 0 ? 0 : i;
  const std::vector<uint64_t> sources = Sources(40, kDegree);
  for (uint32_t i = 0; i < kDegree; ++i) {
    if (weights[i] > 0) by_quotient.push_back(i);
  }
  std::sort(by_quotient.begin(), by_quotient.end(), [&](uint32_t a, uint32_t b) {
    return static_cast<long double>(LaborVariate(6, sources[a])) / weights[a] <
           static_cast<long double>(LaborVariate(6, sources[b])) / weights[b];
  });
  by_quotient.resize(kCount);
  std::sort(by_quotient.begin(), by_quotient.end());
  EXPECT_EQ(Draw(6, sources, kCount, PrefixSums(weights)), by_quotient);
}

// With weights 3 and 1 the heavy edge wins if u / 3 < v for independent uniform u and v, which has probability 5/6.
// (Successive draws would take it with probability 3/4: LABOR draws are only approximately proportional to the
// weights.)
TEST(LaborDrawsTest, HeavierEdgeWinsAccordingToVariates) {
  constexpr int kKeys = 20'000;
  double heavy = 0;
  for (int key = 0; key < kKeys; ++key) {
    heavy += Draw(static_cast<uint64_t>(key), Sources(100, 2), 1, PrefixSums({3, 1}))[0] == 0 ? 1 : 0;
  }
  EXPECT_NEAR(heavy / kKeys, 5.0 / 6, 4 * std::sqrt(5.0 / 36 / kKeys));  // four standard deviations
}

TEST(LaborDrawsTest, TakesFewerIfFewerHaveWeight) {
  EXPECT_THAT(Draw(1, Sources(0, 6), 4, PrefixSums({0, 1, 0, 0, 1, 0})), ElementsAre(1, 4));
  EXPECT_TRUE(Draw(1, Sources(0, 3), 2, PrefixSums({0, 0, 0})).empty());
}

// Equal weights give the same draws as no weights.
TEST(LaborDrawsTest, MaskDrawsUniformlyAmongAllowed) {
  const std::vector<uint64_t> all = Sources(0, 60);
  std::vector<uint32_t> mask(60);
  std::vector<uint64_t> allowed;
  for (size_t i = 0; i < 60; ++i) {
    mask[i] = i % 3 == 0 ? 1 : 0;
    if (mask[i] == 1) allowed.push_back(all[i]);
  }
  std::vector<uint64_t> masked, alone;
  for (const uint32_t position : Draw(9, all, 8, PrefixSums(mask))) masked.push_back(all[position]);
  for (const uint32_t position : Draw(9, allowed, 8)) alone.push_back(allowed[position]);
  EXPECT_EQ(masked, alone);
}

}  // namespace
}  // namespace espalier::sampler
