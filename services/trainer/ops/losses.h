// This trainer's share of the loss of a global batch: the sum over the trainer's own seeds, divided by the number of
// seeds of all trainers. The shares of all trainers add up to the mean over the global batch; the same holds for their
// gradients.
#pragma once

#include <torch/torch.h>

#include "services/base/status.h"
#include "services/job/dist_training.h"

namespace espalier::trainer {

enum class LossKind { kCrossEntropy, kBinaryCrossEntropy, kSquaredError };

// Returns the kind of loss of `task`, which must not be link prediction (checked): that task has no labels.
LossKind ToLossKind(const job::Task& task);

// Checks labels, one row per seed (a node or an edge). The model's outputs are f32 [S, C], C = num_outputs. The labels
// must be:
//   kCrossEntropy        i64 [S], a class in [0, C), or -1: unlabeled
//   kBinaryCrossEntropy  f32 [S, C] (or [S] if C = 1) of 0 and 1; NaN: unlabeled
//   kSquaredError        f32 [S, C] (or [S] if C = 1); NaN: unlabeled
// InvalidArgument: the dtype, the shape or a value is wrong; the message says which row has the first wrong value.
Status CheckLabels(LossKind kind, const torch::Tensor& labels, int64_t num_outputs);

// Returns the sum of the losses of labeled entries, divided by global_num_seeds: an f32 scalar on the device of the
// outputs, to which the labels are copied. Unless the kind is kCrossEntropy, the sum is also divided by
// outputs.size(1), so that the loss of a fully labeled batch equals torch's mean. Without seeds, the loss and its
// gradient are zero.
torch::Tensor Loss(LossKind kind, const torch::Tensor& outputs, const torch::Tensor& labels, int64_t global_num_seeds);

}  // namespace espalier::trainer
