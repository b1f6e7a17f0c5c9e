// What a hidden layer does to its rows at the end: bias, ReLU and dropout in one pass over the memory. (As separate
// torch operations they take longer than the layer's matrix products: performance notes in docs.)
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace espalier::trainer {

// Rows [begin, end) belong to one node type.
struct DropoutRange {
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t key = 0;            // RandomKey(seed, kDropout, epoch, step, layer, node type)
  torch::Tensor original_ids;  // i64 [end - begin]
};

// Which elements to drop. An element is dropped with probability round(probability * 65536) / 65536 and the others are
// scaled by the inverse of what stays; masks depend on (key, original id, column) only.
struct DropoutPlan {
  double probability = 0;            // 0: none; < 1
  std::vector<DropoutRange> ranges;  // cover all rows when probability > 0
};

// dropout(relu(x + bias)), written over x (f32 [N, F]); bias f32 [F] or undefined. NaN stays NaN unless it is dropped.
// Returns x.
torch::Tensor BiasReluDropout(const torch::Tensor& x, const torch::Tensor& bias, const DropoutPlan& dropout);

// dropout(x) as new rows; x itself where the plan drops nothing. f32 [N, F]
torch::Tensor DropElements(const torch::Tensor& x, const DropoutPlan& dropout);

}  // namespace espalier::trainer
