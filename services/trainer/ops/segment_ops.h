// Message passing over one block, with gradients (kernels: kernels/segments.h). x is f32 [N, F]: the rows that
// `indices` name; the first D = rows of the block are the destinations themselves. The block is only read during
// the call: what a backward pass needs is kept by the result.
#pragma once

#include <torch/torch.h>

#include "services/kernels/segments.h"

namespace espalier::trainer {

// [N, F] -> [D, F]; a destination without in-edges gets zeros.
torch::Tensor SegmentSum(const kernels::Segments& block, const torch::Tensor& x);
torch::Tensor SegmentMean(const kernels::Segments& block, const torch::Tensor& x);
torch::Tensor SegmentMax(const kernels::Segments& block, const torch::Tensor& x);

// [N, F] -> [D, F]: (sum of in-neighbours + self) / (in-degree + 1).
torch::Tensor SegmentMeanWithSelf(const kernels::Segments& block, const torch::Tensor& x);

// [N, F] -> [D, 2 F]: self | mean of in-neighbours. One array, so that one matrix product serves both.
torch::Tensor SelfAndSegmentMean(const kernels::Segments& block, const torch::Tensor& x);

// What ScaledSegmentSum multiplies rows with; each is read during the call.
struct SegmentScales {
  std::span<const float> source;  // [N], above 0
  std::span<const float> self;    // [D], or empty: a destination's own row takes no part
  std::span<const float> result;  // [D]
};
// [N, F] -> [D, F]: result[d] * (self[d] * x[d] + sum over in-neighbours s: source[s] * x[s]).
torch::Tensor ScaledSegmentSum(const kernels::Segments& block, const torch::Tensor& x, const SegmentScales& scales);

// base[rows[k]] += values[k], in place; rows are distinct. [D, F], [K, F] -> [D, F]: base itself.
torch::Tensor AddToRows(const torch::Tensor& base, const torch::Tensor& values, std::span<const uint32_t> rows);

}  // namespace espalier::trainer
