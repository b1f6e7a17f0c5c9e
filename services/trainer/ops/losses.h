// Losses as this trainer's share of the global batch's mean: the sum over its own rows divided by the number of
// rows of all trainers. Gradients of all trainers then add up to the gradient of one trainer with the whole batch.
#pragma once

#include <torch/torch.h>

#include "services/base/status.h"
#include "services/job/dist_training.h"

namespace espalier::trainer {

enum class LossKind { kCrossEntropy, kBinaryCrossEntropy, kSquaredError };

LossKind LossFor(const job::Task& task);

// One row per seed: a node, or an edge. Labels by kind (outputs are f32 [S, C]):
//   kCrossEntropy        i64 [S], a class in [0, C), or -1: not labelled
//   kBinaryCrossEntropy  f32 [S, C] of 0 and 1; NaN: not labelled
//   kSquaredError        f32 [S, C] (or [S] where C = 1); NaN: not labelled
// InvalidArgument where dtype, shape or a value does not fit; names the first bad row.
Status CheckLabels(LossKind kind, const torch::Tensor& labels, int64_t num_outputs);

// f32 scalar: sum over labelled entries / global_num_seeds (with several columns: / columns as well, so that a
// fully labelled batch has torch's mean). Zero, with a gradient of zeros, for an empty share.
torch::Tensor Loss(LossKind kind, const torch::Tensor& outputs, const torch::Tensor& labels, int64_t global_num_seeds);

}  // namespace espalier::trainer
