// The end of a hidden layer: bias, ReLU and dropout in one pass over the memory. (As separate torch operations they
// take longer than the layer's matrix products.) On devices other than the CPU they are separate operations, with the
// same masks bit for bit.
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

// Which elements to drop. An element is dropped with probability p = round(probability * 65536) / 65536; kept elements
// are scaled by 1 / (1 - p). Masks depend only on (key, original id, column).
struct DropoutPlan {
  double probability = 0;            // 0: none; < 1
  std::vector<DropoutRange> ranges;  // cover all rows if probability > 0
};

// Returns dropout(relu(x + bias)). On the CPU, overwrites x and returns it. x: f32 [N, F], contiguous; bias: f32 [F] or
// undefined. NaN stays NaN unless it is dropped.
torch::Tensor BiasReluDropout(const torch::Tensor& x, const torch::Tensor& bias, const DropoutPlan& dropout);

// Returns dropout(x) as new rows, or x itself if the plan drops nothing. x: f32 [N, F].
torch::Tensor DropElements(const torch::Tensor& x, const DropoutPlan& dropout);

}  // namespace espalier::trainer
