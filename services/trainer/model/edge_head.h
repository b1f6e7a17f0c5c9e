// From the embeddings of an edge's ends to its outputs: a perceptron of one hidden layer over both side by side,
// W2 relu(W1 [s, d] + b1) + b2. So an edge and its reverse may have different labels.
#pragma once

#include <torch/torch.h>

#include "services/trainer/model/linear.h"

namespace espalier::trainer {

// Thread-compatible. Parameters "hidden.weight" f32 [D, 2 D], "hidden.bias" [D], "output.weight" [C, D] and
// "output.bias" [C]; first values by (seed, "edge_head...").
class EdgeHead : public torch::nn::Module {
 public:
  // Embeddings of `width` numbers, `num_outputs` classes or values; both at least 1 (checked).
  EdgeHead(int64_t width, int64_t num_outputs, uint64_t seed);

  // Row by row: f32 [n, D], [n, D] -> [n, C].
  torch::Tensor Outputs(const torch::Tensor& sources, const torch::Tensor& destinations);

 private:
  Linear hidden_, output_;
};

}  // namespace espalier::trainer
