#include "services/trainer/model/gcn_convolution.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "services/trainer/ops/segment_ops.h"

namespace espalier::trainer {
namespace {

// The arrays of SegmentScales.
struct GcnScales {
  std::vector<float> source, self, result;
};

GcnScales ComputeScales(const RelationRows& rows) {
  const float loop = rows.with_self_loops ? 1.0f : 0.0f;
  GcnScales scales;
  for (const float degree : rows.out_degrees) scales.source.push_back(1.0f / std::sqrt(std::max(1.0f, degree + loop)));
  for (size_t d = 0; d < rows.in_degrees.size(); ++d) {
    const auto drawn = static_cast<float>(rows.segments.indptr[d + 1] - rows.segments.indptr[d]);
    const float drawn_fraction = drawn > 0 ? drawn / rows.in_degrees[d] : 1.0f;
    scales.result.push_back(1.0f / (drawn_fraction * std::sqrt(std::max(1.0f, rows.in_degrees[d] + loop))));
    // The self-loop is always present, so its term must not be scaled for sampling: this drawn_fraction cancels the
    // inverse factor in `result`.
    if (rows.with_self_loops) scales.self.push_back(scales.source[d] * drawn_fraction);
  }
  return scales;
}

}  // namespace

GcnConvolution::GcnConvolution(int64_t inputs, int64_t outputs, uint64_t seed, const std::string& name)
    : linear_(register_module("fc", Linear(inputs, outputs, Bias::kNone, /*gain=*/1.0, seed, name + ".fc"))) {}

torch::Tensor GcnConvolution::Forward(const RelationRows& rows) {
  const GcnScales scales = ComputeScales(rows);
  const auto aggregate = [&](const torch::Tensor& x) {
    return ScaledSegmentSum(rows.segments, x, {scales.source, scales.self, scales.result});
  };
  // Aggregates before or after the linear map, whichever moves fewer values along edges.
  const bool narrows = linear_->weight().size(0) < linear_->weight().size(1);
  return narrows ? aggregate(linear_->forward(rows.source)) : linear_->forward(aggregate(rows.source));
}

}  // namespace espalier::trainer
