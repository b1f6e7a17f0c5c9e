// Converts a model's outputs to predictions.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "services/base/tensor.h"
#include "services/trainer/ops/losses.h"

namespace espalier::trainer {

// Returns the predictions of outputs f32 [n, C]: the class i64 [n], 0 or 1 per class u8 [n, C] (multi-label), or the
// outputs themselves (regression).
torch::Tensor Decide(LossKind kind, const torch::Tensor& outputs);

struct DecisionShape {
  DType dtype;
  std::vector<int64_t> row_shape;  // of one prediction; empty: a scalar
};
// Returns the dtype and the shape of the rows that Decide returns.
DecisionShape ShapeOfDecisions(LossKind kind, int64_t num_outputs);

}  // namespace espalier::trainer
