// The end of a hidden layer, with gradients. On the CPU, bias, ReLU and dropout are one pass over the memory (separate
// torch operations would take longer than the layer's matrix products). On other devices they are separate operations
// of torch with bitwise equal masks.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace espalier::trainer {

// Rows [begin, end) belong to one node type.
struct DropoutRange {
  int64_t begin = 0;
  int64_t end = 0;
  // RandomKey(seed, kDropout, epoch, step, layer, node type) or, for the inputs of the model, RandomKey(seed,
  // kInputDropout, epoch, step, node type).
  uint64_t key = 0;
  torch::Tensor original_ids;  // i64 [at least end - begin], contiguous: the ids of the rows, in order
};

// Determines which elements are dropped. An element is dropped with probability
// p = min(round(probability * 65536), 65535) / 65536; kept elements are scaled by 1 / (1 - p). Masks depend only on
// (key, original id, index in the row) and p.
struct DropoutPlan {
  double probability = 0;            // in [0, 1); 0: nothing is dropped
  std::vector<DropoutRange> ranges;  // cover all rows if probability > 0
};

// Returns dropout(relu(x + bias)). On the CPU, overwrites x and returns it. x: f32 [N, F], contiguous; bias: f32 [F] or
// undefined. An element that is NaN stays NaN unless it is dropped.
torch::Tensor BiasReluDropout(const torch::Tensor& x, const torch::Tensor& bias, const DropoutPlan& dropout);

// Returns dropout(x) as a new tensor, or x itself if the plan drops nothing. x: f32 [N, F].
torch::Tensor DropElements(const torch::Tensor& x, const DropoutPlan& dropout);

}  // namespace espalier::trainer
