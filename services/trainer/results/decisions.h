// What a task's outputs decide.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "services/base/tensor.h"
#include "services/trainer/ops/losses.h"

namespace espalier::trainer {

// Of outputs f32 [n, C]: a class i64 [n], a yes or no per class u8 [n, C], or the values themselves.
torch::Tensor Decide(LossKind kind, const torch::Tensor& outputs);

struct DecisionShape {
  DType dtype;
  std::vector<int64_t> row_shape;  // of one row's decision; empty: a scalar
};
DecisionShape ShapeOfDecisions(LossKind kind, int64_t num_outputs);

}  // namespace espalier::trainer
