#include "services/trainer/link_scorer.h"

#include <cmath>

#include "services/base/check.h"
#include "services/trainer/initialization.h"

namespace espalier::trainer {
namespace {

constexpr double kMargin = 12;
constexpr double kPi = 3.14159265358979323846;
// Lengths have no slope at zero; this keeps gradients finite where source and destination meet.
constexpr double kLeastSquare = 1e-12;

}  // namespace

LinkScorer::LinkScorer(job::Scorer scorer, int64_t width, uint64_t seed) : scorer_(scorer), width_(width) {
  const bool is_complex = scorer == job::Scorer::kComplEx || scorer == job::Scorer::kRotatE;
  ESPALIER_CHECK(!is_complex || width % 2 == 0) << "complex embeddings of width " << width;
  if (scorer == job::Scorer::kDot) return;
  torch::Tensor relation = torch::empty({scorer == job::Scorer::kRotatE ? width / 2 : width});
  const double bound = scorer == job::Scorer::kRotatE ? kPi : std::sqrt(6.0 / static_cast<double>(width));
  FillUniform(relation, bound, seed, "scorer.relation");
  relation_ = register_parameter("relation", relation);
}

torch::Tensor LinkScorer::Query(const torch::Tensor& sources) const {
  const int64_t half = width_ / 2;
  switch (scorer_) {
    case job::Scorer::kDot: return sources;
    case job::Scorer::kDistMult: return sources * relation_;
    case job::Scorer::kTransE: return sources + relation_;
    case job::Scorer::kComplEx:
    case job::Scorer::kRotatE: break;
  }
  const bool rotates = scorer_ == job::Scorer::kRotatE;
  const torch::Tensor real = rotates ? torch::cos(relation_) : relation_.narrow(0, 0, half);
  const torch::Tensor imaginary = rotates ? torch::sin(relation_) : relation_.narrow(0, half, half);
  const torch::Tensor s_real = sources.narrow(1, 0, half), s_imaginary = sources.narrow(1, half, half);
  return torch::cat({s_real * real - s_imaginary * imaginary, s_real * imaginary + s_imaginary * real}, 1);
}

torch::Tensor LinkScorer::Length(const torch::Tensor& differences) const {
  if (scorer_ == job::Scorer::kTransE) return differences.abs().sum(-1);
  const int64_t half = width_ / 2;
  const torch::Tensor real = differences.narrow(-1, 0, half), imaginary = differences.narrow(-1, half, half);
  return torch::sqrt(real * real + imaginary * imaginary + kLeastSquare).sum(-1);
}

torch::Tensor LinkScorer::Score(const torch::Tensor& sources, const torch::Tensor& destinations) const {
  const torch::Tensor query = Query(sources);
  return is_distance() ? kMargin - Length(query - destinations) : (query * destinations).sum(1);
}

torch::Tensor LinkScorer::ScoreAll(const torch::Tensor& sources, const torch::Tensor& destinations) const {
  const torch::Tensor query = Query(sources);
  if (is_distance()) return kMargin - Length(query.unsqueeze(1) - destinations.unsqueeze(0));
  return torch::matmul(query, destinations.t());
}

}  // namespace espalier::trainer
