// Scores and losses compared with their formulas in double precision, gradients compared with finite differences.
#include "services/trainer/model/link_scorer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "services/trainer/model/link_loss.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

constexpr int64_t kWidth = 6;
constexpr job::Scorer kScorers[] = {job::Scorer::kDot, job::Scorer::kDistMult, job::Scorer::kComplEx,
                                    job::Scorer::kTransE, job::Scorer::kRotatE};

// Returns the score of one pair by the formulas of link_scorer.h.
double ScoreByHand(job::Scorer scorer, const float* s, const float* r, const float* d) {
  using Complex = std::complex<double>;
  constexpr int64_t kHalf = kWidth / 2;
  const auto complex = [](const float* row, int64_t i) { return Complex(row[i], row[kHalf + i]); };
  double score = 0;
  switch (scorer) {
    case job::Scorer::kDot:
      for (int64_t i = 0; i < kWidth; ++i) score += double{s[i]} * d[i];
      return score;
    case job::Scorer::kDistMult:
      for (int64_t i = 0; i < kWidth; ++i) score += double{s[i]} * r[i] * d[i];
      return score;
    case job::Scorer::kComplEx:
      for (int64_t i = 0; i < kHalf; ++i) score += (complex(s, i) * complex(r, i) * std::conj(complex(d, i))).real();
      return score;
    case job::Scorer::kTransE:
      for (int64_t i = 0; i < kWidth; ++i) score += std::abs(double{s[i]} + r[i] - d[i]);
      return 12 - score;
    case job::Scorer::kRotatE:
      for (int64_t i = 0; i < kHalf; ++i) {
        score += std::abs(complex(s, i) * std::polar(1.0, double{r[i]}) - complex(d, i));
      }
      return 12 - score;
  }
  return NAN;
}

TEST(LinkScorerTest, MatchesFormulas) {
  const torch::Tensor sources = RandomMatrix(1, 4, kWidth), destinations = RandomMatrix(2, 5, kWidth);
  for (const job::Scorer kind : kScorers) {
    const LinkScorer scorer(kind, 3, kWidth, 3);
    const torch::NoGradGuard no_gradients;
    const auto parameters = scorer.named_parameters();
    const std::vector<uint32_t> relations = {2, 0, 2, 1};
    EXPECT_EQ(parameters.size() == 0, kind == job::Scorer::kDot);
    const torch::Tensor queries = scorer.MakeQueries(sources, relations);
    const torch::Tensor all = scorer.ScoreAll(queries, destinations);
    const torch::Tensor pairs = scorer.Score(queries, destinations.narrow(0, 1, 4));
    ASSERT_EQ(all.sizes(), (std::vector<int64_t>{4, 5}));
    ASSERT_EQ(pairs.sizes(), (std::vector<int64_t>{4}));
    for (int64_t i = 0; i < 4; ++i) {
      const float* s = sources.data_ptr<float>() + i * kWidth;
      const float* relation = nullptr;
      if (parameters.size() > 0) {
        const torch::Tensor& all_relations = parameters["relation"];
        ASSERT_EQ(all_relations.size(0), 3);
        relation = all_relations.data_ptr<float>() + relations[static_cast<size_t>(i)] * all_relations.size(1);
      }
      for (int64_t j = 0; j < 5; ++j) {
        const double expected = ScoreByHand(kind, s, relation, destinations.data_ptr<float>() + j * kWidth);
        EXPECT_NEAR(all[i][j].item<double>(), expected, 1e-4) << static_cast<int>(kind);
        if (j != i + 1) continue;
        EXPECT_NEAR(pairs[i].item<double>(), expected, 1e-4) << static_cast<int>(kind);
      }
    }
  }
}

TEST(LinkScorerTest, InitialValuesDependOnlyOnSeed) {
  const LinkScorer one(job::Scorer::kDistMult, 1, kWidth, 3), same(job::Scorer::kDistMult, 1, kWidth, 3),
      other(job::Scorer::kDistMult, 1, kWidth, 4);
  EXPECT_TRUE(torch::equal(one.named_parameters()["relation"], same.named_parameters()["relation"]));
  EXPECT_FALSE(torch::equal(one.named_parameters()["relation"], other.named_parameters()["relation"]));
}

// Returns 3 pairs among 5 seeds and 2 relations, with 2 negatives each; one negative is masked.
sampler::LinkSeeds ThreePairs() {
  return {.negatives_per_pair = 2,
          .sources = {0, 1, 4},
          .destinations = {1, 2, 0},
          .relations = {1, 0, 1},
          .set_ends = {1, 2, 3},
          .negative_destinations = {3, 4, 3, 0, 2, 3},
          .negative_weights = {1, 1, 0, 1, 1, 1}};
}

// Returns the same pairs with drawn sources of the negatives.
sampler::LinkSeeds WithDrawnSources() {
  sampler::LinkSeeds links = ThreePairs();
  links.negative_sources = {2, 0, 1, 4, 3, 3};
  return links;
}

// Returns the same pairs, where the first two share their negatives.
sampler::LinkSeeds WithSharedNegatives() {
  sampler::LinkSeeds links = ThreePairs();
  links.set_ends = {2, 3};
  links.negative_destinations = {3, 4, 2, 3};
  return links;
}

// Returns `shared` with a separate copy of the negatives for each pair.
sampler::LinkSeeds Spread(const sampler::LinkSeeds& shared) {
  sampler::LinkSeeds links = shared;
  links.set_ends.clear();
  links.negative_destinations.clear();
  for (uint32_t i = 0, set = 0; i < shared.sources.size(); ++i) {
    if (i == shared.set_ends[set]) ++set;
    for (uint32_t k = 0; k < 2; ++k) links.negative_destinations.push_back(shared.negative_destinations[2 * set + k]);
    links.set_ends.push_back(i + 1);
  }
  return links;
}

TEST(LinkLossTest, MatchesHandComputation) {
  const torch::Tensor embeddings = RandomMatrix(5, 5, kWidth);
  const LinkScorer scorer(job::Scorer::kDistMult, 2, kWidth, 0);
  const torch::Tensor relations = scorer.named_parameters()["relation"].detach();
  for (const sampler::LinkSeeds& links : {ThreePairs(), WithDrawnSources(), WithSharedNegatives()}) {
    const auto score = [&](size_t pair, uint32_t a, uint32_t b) {
      return (embeddings[a] * relations[links.relations[pair]] * embeddings[b]).sum().item<double>();
    };
    const sampler::LinkSeeds spread = Spread(links);
    double binary = 0, cross = 0;
    for (size_t i = 0; i < 3; ++i) {
      const double positive = score(i, links.sources[i], links.destinations[i]);
      double sum = std::exp(positive);
      binary += std::log1p(std::exp(-positive));
      for (size_t k = 2 * i; k < 2 * i + 2; ++k) {
        if (links.negative_weights[k] == 0) continue;
        const uint32_t source = links.negative_sources.empty() ? links.sources[i] : links.negative_sources[k];
        const double negative = score(i, source, spread.negative_destinations[k]);
        binary += std::log1p(std::exp(negative));
        sum += std::exp(negative);
      }
      cross += std::log(sum) - positive;
    }
    // The global batch has 8 pairs; 5 of them belong to other trainers.
    EXPECT_NEAR(LinkLoss(job::LinkLoss::kBinaryCrossEntropy, scorer, embeddings, links, 8).item<double>(),
                binary / (8 * 3), 1e-5);
    EXPECT_NEAR(LinkLoss(job::LinkLoss::kCrossEntropy, scorer, embeddings, links, 8).item<double>(), cross / 8, 1e-5);
  }
}

TEST(LinkLossTest, SharedNegativesMatchSeparateOnes) {
  const torch::Tensor embeddings = RandomMatrix(5, 5, kWidth);
  for (const job::Scorer kind : kScorers) {
    const LinkScorer scorer(kind, 2, kWidth, 3);
    const auto loss = [&](const sampler::LinkSeeds& links) {
      return LinkLoss(job::LinkLoss::kCrossEntropy, scorer, embeddings, links, 3).item<double>();
    };
    EXPECT_NEAR(loss(WithSharedNegatives()), loss(Spread(WithSharedNegatives())), 1e-5) << static_cast<int>(kind);
  }
}

TEST(LinkLossTest, GradientsMatchFiniteDifferences) {
  for (const job::Scorer kind : kScorers) {
    for (const auto loss : {job::LinkLoss::kBinaryCrossEntropy, job::LinkLoss::kCrossEntropy}) {
      LinkScorer scorer(kind, 2, kWidth, 3);
      torch::Tensor embeddings = RandomMatrix(6, 5, kWidth).set_requires_grad(true);
      const sampler::LinkSeeds links =
          loss == job::LinkLoss::kCrossEntropy ? WithSharedNegatives() : WithDrawnSources();
      const auto scalar = [&] { return LinkLoss(loss, scorer, embeddings, links, 3); };
      const std::string name = "scorer " + std::to_string(static_cast<int>(kind));
      // Absolute values are not differentiable at 0; a short step avoids these points.
      ExpectGradientOfFiniteDifferences(name + ", embeddings", embeddings, scalar, 1e-4, 3e-2);
      for (auto& parameter : scorer.named_parameters()) {
        ExpectGradientOfFiniteDifferences(name + ", relation", parameter.value(), scalar, 1e-4, 3e-2);
      }
    }
  }
}

TEST(LinkLossTest, AnEmptyShareHasNoLossAndZeroGradients) {
  const LinkScorer scorer(job::Scorer::kDot, 1, kWidth, 0);
  torch::Tensor embeddings = torch::empty({0, kWidth}).set_requires_grad(true);
  const torch::Tensor loss =
      LinkLoss(job::LinkLoss::kBinaryCrossEntropy, scorer, embeddings, {.negatives_per_pair = 2}, 4);
  EXPECT_EQ(loss.item<float>(), 0);
  loss.backward();
  EXPECT_TRUE(embeddings.grad().defined());
}

}  // namespace
}  // namespace espalier::trainer
