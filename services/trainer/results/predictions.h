// Converts a model's outputs to predictions.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "services/base/tensor.h"
#include "services/trainer/ops/losses.h"

namespace espalier::trainer {

// Returns the predictions for outputs f32 [n, C]: the class, i64 [n]; for multi-label tasks 0 or 1 per class, u8
// [n, C]; for regression the outputs themselves.
torch::Tensor ToPredictions(LossKind kind, const torch::Tensor& outputs);

struct PredictionShape {
  DType dtype;
  std::vector<int64_t> row_shape;  // the shape of one row's prediction; empty: a scalar
};
// Returns the dtype and row shape of the predictions that ToPredictions returns for `num_outputs` outputs.
PredictionShape GetPredictionShape(LossKind kind, int64_t num_outputs);

}  // namespace espalier::trainer
