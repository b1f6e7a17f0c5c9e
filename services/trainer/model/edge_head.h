// Computes the outputs of an edge from the embeddings s and d of its source and destination, with a perceptron of one
// hidden layer over the concatenation [s, d]: W2 relu(W1 [s, d] + b1) + b2. An edge and its reverse may have different
// outputs.
#pragma once

#include <torch/torch.h>

#include "services/job/dist_training.h"
#include "services/trainer/model/linear.h"

namespace espalier::trainer {

// Thread-compatible. Parameters "hidden.weight" f32 [D, 2 D], "hidden.bias" [D], "output.weight" [C, D] and
// "output.bias" [C]. Biases start with zeros; the initial weights follow from the seed and the names "edge_head.hidden"
// and "edge_head.output" (linear.h).
class EdgeHead : public torch::nn::Module {
 public:
  // `width` is the size D of an embedding, `num_outputs` the number C of classes or values; both at least 1 (checked).
  // `precision`: of the two matrix products.
  EdgeHead(int64_t width, int64_t num_outputs, uint64_t seed, job::Precision precision = job::Precision::kF32);

  // Returns the outputs of one edge per row: f32 [n, D], [n, D] -> [n, C].
  torch::Tensor Outputs(const torch::Tensor& sources, const torch::Tensor& destinations);

 private:
  const job::Precision precision_;
  Linear hidden_, output_;
};

}  // namespace espalier::trainer
