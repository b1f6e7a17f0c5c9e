// The operations after the convolution of a hidden layer: bias, normalization, ReLU or ELU, dropout.
#pragma once

#include <torch/torch.h>

#include <optional>
#include <vector>

#include "services/trainer/model/batch_norm.h"
#include "services/trainer/ops/activation.h"

namespace espalier::trainer {

// Returns the dropout of a layer's output rows: num_rows[k] rows of types[k], concatenated in this order. The plan is
// empty if `probability` is 0 or run.training is false.
DropoutPlan MakeDropout(double probability, int layer, const std::vector<NodeTypeId>& types,
                        const std::vector<int64_t>& num_rows, const LayerRun& run);

// Returns the dropout of a model's input rows of one type. The plan is empty if `probability` or `num_rows` is 0 or
// run.training is false.
DropoutPlan MakeInputDropout(double probability, NodeTypeId type, int64_t num_rows, const LayerRun& run);

enum class Nonlinearity { kRelu, kElu };

// Owns the layer's bias and normalization parameters.
class HiddenEpilogueImpl : public torch::nn::Module {
 public:
  HiddenEpilogueImpl(job::LayerNormalization normalization, Nonlinearity nonlinearity, int64_t width);

  // Returns f32 [N, F]. x: the output of the convolution, without bias, f32 [N, F]; it may be overwritten.
  torch::Tensor forward(const torch::Tensor& x, const DropoutPlan& dropout, const LayerRun& run);

 private:
  torch::Tensor Activate(const torch::Tensor& x, const torch::Tensor& bias, const DropoutPlan& dropout) const;

  const Nonlinearity nonlinearity_;
  torch::Tensor bias_;  // f32 [F]
  BatchNorm batch_norm_{nullptr};
  torch::Tensor layer_norm_weight_, layer_norm_bias_;  // f32 [F]; undefined without layer normalization
};
TORCH_MODULE(HiddenEpilogue);

}  // namespace espalier::trainer
