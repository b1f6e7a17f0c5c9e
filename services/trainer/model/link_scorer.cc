#include "services/trainer/model/link_scorer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "services/base/check.h"
#include "services/trainer/model/initialization.h"
#include "services/trainer/ops/matrix_product.h"
#include "services/trainer/ops/segment_ops.h"

namespace espalier::trainer {
namespace {

constexpr double kMargin = 12;
constexpr double kPi = 3.14159265358979323846;
// The square root has no finite gradient at zero. This constant keeps gradients finite if query and destination are
// equal.
constexpr double kMinSquare = 1e-12;

}  // namespace

torch::Tensor SelectRows(const torch::Tensor& x, std::span<const uint32_t> rows) {
  // Computed as a sum over segments of one row each, because the backward pass of that sum is deterministic.
  std::vector<uint32_t> indptr(rows.size() + 1);
  std::iota(indptr.begin(), indptr.end(), 0u);
  return SegmentSum({indptr, rows}, x);
}

LinkScorer::LinkScorer(job::Scorer scorer, int64_t num_relations, int64_t width, uint64_t seed)
    : scorer_(scorer), num_relations_(num_relations), width_(width) {
  const bool is_complex = scorer == job::Scorer::kComplEx || scorer == job::Scorer::kRotatE;
  ESPALIER_CHECK(!is_complex || width % 2 == 0) << "complex embeddings of width " << width;
  ESPALIER_CHECK(num_relations > 0);
  if (scorer == job::Scorer::kDot) return;
  torch::Tensor relation = torch::empty({num_relations, scorer == job::Scorer::kRotatE ? width / 2 : width});
  const double bound = scorer == job::Scorer::kRotatE ? kPi : std::sqrt(6.0 / static_cast<double>(width));
  FillUniform(relation, bound, seed, "scorer.relation");
  relation_ = register_parameter("relation", relation);
}

torch::Tensor LinkScorer::MakeQueries(const torch::Tensor& sources, std::span<const uint32_t> relations) const {
  ESPALIER_CHECK(static_cast<int64_t>(relations.size()) == sources.size(0))
      << relations.size() << " relations for " << sources.size(0) << " rows";
  if (scorer_ == job::Scorer::kDot) return sources;
  // A single relation is broadcast to all rows.
  const torch::Tensor relation = num_relations_ == 1 ? relation_[0] : SelectRows(relation_, relations);
  if (scorer_ == job::Scorer::kDistMult) return sources * relation;
  if (scorer_ == job::Scorer::kTransE) return sources + relation;
  const int64_t half = width_ / 2;
  const bool rotates = scorer_ == job::Scorer::kRotatE;
  const torch::Tensor real = rotates ? torch::cos(relation) : relation.narrow(-1, 0, half);
  const torch::Tensor imaginary = rotates ? torch::sin(relation) : relation.narrow(-1, half, half);
  const torch::Tensor s_real = sources.narrow(1, 0, half), s_imaginary = sources.narrow(1, half, half);
  return torch::cat({s_real * real - s_imaginary * imaginary, s_real * imaginary + s_imaginary * real}, 1);
}

torch::Tensor LinkScorer::Length(const torch::Tensor& differences) const {
  if (scorer_ == job::Scorer::kTransE) return differences.abs().sum(-1);
  const int64_t half = width_ / 2;
  const torch::Tensor real = differences.narrow(-1, 0, half), imaginary = differences.narrow(-1, half, half);
  return torch::sqrt(real * real + imaginary * imaginary + kMinSquare).sum(-1);
}

torch::Tensor LinkScorer::Score(const torch::Tensor& queries, const torch::Tensor& destinations) const {
  return IsDistance() ? kMargin - Length(queries - destinations) : (queries * destinations).sum(-1);
}

torch::Tensor LinkScorer::ScoreAll(const torch::Tensor& queries, const torch::Tensor& destinations) const {
  if (!IsDistance()) return MatMul(queries, destinations.t());
  const int64_t rows_at_once = std::max<int64_t>(1, kMaxDifferences / std::max<int64_t>(1, destinations.numel()));
  std::vector<torch::Tensor> blocks;
  for (int64_t first = 0; first < queries.size(0); first += rows_at_once) {
    const torch::Tensor block = queries.narrow(0, first, std::min(rows_at_once, queries.size(0) - first));
    blocks.push_back(Score(block.unsqueeze(1), destinations.unsqueeze(0)));
  }
  return blocks.empty() ? torch::empty({0, destinations.size(0)}, destinations.options()) : torch::cat(blocks, 0);
}

}  // namespace espalier::trainer
