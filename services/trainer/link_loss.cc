#include "services/trainer/link_loss.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "services/base/check.h"
#include "services/trainer/segment_ops.h"

namespace espalier::trainer {
namespace {

// Row k is embeddings[rows[k]]. A sum over segments of one row each: its backward pass adds gradients up in a fixed
// order, where torch's scatters.
torch::Tensor RowsAt(const torch::Tensor& embeddings, const std::vector<uint32_t>& rows) {
  std::vector<uint32_t> indptr(rows.size() + 1);
  std::iota(indptr.begin(), indptr.end(), 0u);
  return SegmentSum({indptr, rows}, embeddings);
}

torch::Tensor ScoresOf(const LinkScorer& scorer, const torch::Tensor& embeddings, const std::vector<uint32_t>& sources,
                       const std::vector<uint32_t>& destinations) {
  return scorer.Score(RowsAt(embeddings, sources), RowsAt(embeddings, destinations));
}

}  // namespace

torch::Tensor LinkLoss(job::LinkLoss kind, const LinkScorer& scorer, const torch::Tensor& embeddings,
                       const sampler::LinkSeeds& links, int64_t global_num_pairs) {
  const auto num_pairs = static_cast<int64_t>(links.sources.size());
  const int64_t count = links.negatives_per_pair;
  const double pairs = static_cast<double>(std::max<int64_t>(global_num_pairs, 1));
  // The backward pass must run all the same: batch normalisation's talks to other ranks.
  if (num_pairs == 0) return embeddings.sum() * 0.0 / pairs;
  ESPALIER_CHECK(links.negative_weights.size() == links.sources.size() * links.negatives_per_pair &&
                 links.negative_destinations.size() == links.negative_weights.size())
      << "negatives do not fit their pairs";
  const torch::Tensor positive = ScoresOf(scorer, embeddings, links.sources, links.destinations);
  const torch::Tensor negative =
      ScoresOf(scorer, embeddings, links.negative_sources, links.negative_destinations).view({num_pairs, count});
  torch::Tensor weights = torch::empty({num_pairs, count});
  std::copy(links.negative_weights.begin(), links.negative_weights.end(), weights.data_ptr<float>());
  switch (kind) {
    case job::LinkLoss::kBinaryCrossEntropy: {
      const torch::Tensor sum = torch::softplus(-positive).sum() + (torch::softplus(negative) * weights).sum();
      return sum / (pairs * static_cast<double>(1 + count));
    }
    case job::LinkLoss::kCrossEntropy: {
      const torch::Tensor among = negative.masked_fill(weights == 0, -std::numeric_limits<float>::infinity());
      const torch::Tensor logits = torch::cat({positive.unsqueeze(1), among}, 1);
      return (torch::logsumexp(logits, 1) - positive).sum() / pairs;
    }
  }
  ESPALIER_CHECK(false) << "no such loss";
  return {};
}

}  // namespace espalier::trainer
