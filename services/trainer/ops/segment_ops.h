// Message passing over one block, with gradients. x is f32 [N, F]: the rows to which the block's indices refer. In
// functions that use a destination's own row, row d of x is that of destination d, for the block's D destinations. The
// block needs to be valid only during the call, because autograd keeps copies for the backward pass.
//
// Tensors may be on any device, all on the same one. On the CPU, the kernels of kernels/segments.h compute the result;
// on other devices, operations of torch do (edge_tensors.h), whose sums round differently. Blocks, scales and row
// numbers are copied to that device.
#pragma once

#include <torch/torch.h>

#include "services/kernels/segments.h"

namespace espalier::trainer {

// Return the sum, mean or maximum over the in-neighbors of each destination, zeros if there are none: [N, F] -> [D, F].
torch::Tensor SegmentSum(const kernels::Segments& block, const torch::Tensor& x);
torch::Tensor SegmentMean(const kernels::Segments& block, const torch::Tensor& x);
torch::Tensor SegmentMax(const kernels::Segments& block, const torch::Tensor& x);

// Returns (sum of in-neighbors + self) / (in-degree + 1): [N, F] -> [D, F].
torch::Tensor SegmentMeanWithSelf(const kernels::Segments& block, const torch::Tensor& x);

// Returns each destination's own row and the mean of its in-neighbors, side by side in one matrix, so that a layer
// needs only one matrix product: [N, F] -> [D, 2 F].
torch::Tensor SelfAndSegmentMean(const kernels::Segments& block, const torch::Tensor& x);

// Factors of ScaledSegmentSum; they need to be valid only during the call.
struct SegmentScales {
  std::span<const float> source;  // [at least N], above 0
  std::span<const float> self;    // [at least D], or empty: the destination's own row is not added
  std::span<const float> result;  // [at least D]
};
// Returns result[d] * (self[d] * x[d] + sum over in-neighbors s: source[s] * x[s]): [N, F] -> [D, F].
torch::Tensor ScaledSegmentSum(const kernels::Segments& block, const torch::Tensor& x, const SegmentScales& scales);

// Returns `base` with values[k] added to base[rows[k]]: [D, F], [K, F] -> [D, F]. On the CPU, overwrites `base` and
// returns it. `base` must be contiguous (checked), and `rows` must be distinct.
torch::Tensor AddToRows(const torch::Tensor& base, const torch::Tensor& values, std::span<const uint32_t> rows);

}  // namespace espalier::trainer
