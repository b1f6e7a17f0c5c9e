#include "services/trainer/model/link_loss.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "services/base/check.h"

namespace espalier::trainer {
namespace {

// Returns the scores of all negatives: f32 [pairs, K].
torch::Tensor ScoreNegatives(const LinkScorer& scorer, const torch::Tensor& embeddings, const torch::Tensor& queries,
                             const sampler::LinkSeeds& links) {
  const int64_t num_pairs = queries.size(0), count = links.negatives_per_pair, width = queries.size(1);
  const std::span<const uint32_t> negatives(links.negative_destinations);
  if (!links.negative_sources.empty()) {
    std::vector<uint32_t> relations;
    for (const uint32_t relation : links.relations)
      relations.insert(relations.end(), links.negatives_per_pair, relation);
    const torch::Tensor negative_queries =
        scorer.MakeQueries(SelectRows(embeddings, links.negative_sources), relations);
    return scorer.Score(negative_queries, SelectRows(embeddings, negatives)).view({num_pairs, count});
  }
  if (links.set_ends.size() == links.sources.size()) {  // each pair has its own set
    return scorer.Score(queries.unsqueeze(1), SelectRows(embeddings, negatives).view({num_pairs, count, width}));
  }
  // The nodes of a set are gathered once for all of its pairs; for most scorers, ScoreAll is one matrix product.
  std::vector<torch::Tensor> scores;
  int64_t first = 0;
  for (size_t set = 0; set < links.set_ends.size(); ++set) {
    const int64_t end = links.set_ends[set];
    const torch::Tensor nodes =
        SelectRows(embeddings, negatives.subspan(set * links.negatives_per_pair, links.negatives_per_pair));
    scores.push_back(scorer.ScoreAll(queries.narrow(0, first, end - first), nodes));
    first = end;
  }
  return torch::cat(scores, 0);
}

}  // namespace

torch::Tensor LinkLoss(job::LinkLoss kind, const LinkScorer& scorer, const torch::Tensor& embeddings,
                       const sampler::LinkSeeds& links, int64_t global_num_pairs) {
  const auto num_pairs = static_cast<int64_t>(links.sources.size());
  const int64_t count = links.negatives_per_pair;
  const double pairs = static_cast<double>(std::max<int64_t>(global_num_pairs, 1));
  // The result must depend on `embeddings`: every rank must run the backward pass, in which batch normalization
  // communicates with the other ranks.
  if (num_pairs == 0) return embeddings.sum() * 0.0 / pairs;
  const size_t num_sets = links.set_ends.size(), k = links.negatives_per_pair;
  ESPALIER_CHECK(num_sets > 0 && links.set_ends.back() == links.sources.size() &&
                 links.destinations.size() == links.sources.size() && links.relations.size() == links.sources.size() &&
                 links.negative_weights.size() == links.sources.size() * k &&
                 links.negative_destinations.size() == num_sets * k &&
                 (links.negative_sources.empty() || links.negative_sources.size() == num_sets * k))
      << "negatives do not match their pairs";
  const torch::Tensor queries = scorer.MakeQueries(SelectRows(embeddings, links.sources), links.relations);
  const torch::Tensor positive = scorer.Score(queries, SelectRows(embeddings, links.destinations));
  const torch::Tensor negative = ScoreNegatives(scorer, embeddings, queries, links);
  torch::Tensor weights = torch::empty({num_pairs, count});
  std::copy(links.negative_weights.begin(), links.negative_weights.end(), weights.data_ptr<float>());
  weights = weights.to(embeddings.device());
  switch (kind) {
    case job::LinkLoss::kBinaryCrossEntropy: {
      const torch::Tensor sum = torch::softplus(-positive).sum() + (torch::softplus(negative) * weights).sum();
      return sum / (pairs * static_cast<double>(1 + count));
    }
    case job::LinkLoss::kCrossEntropy: {
      const torch::Tensor masked = negative.masked_fill(weights == 0, -std::numeric_limits<float>::infinity());
      const torch::Tensor logits = torch::cat({positive.unsqueeze(1), masked}, 1);
      return (torch::logsumexp(logits, 1) - positive).sum() / pairs;
    }
  }
  ESPALIER_CHECK(false) << "unknown loss";
  return {};
}

}  // namespace espalier::trainer
