// Losses as this trainer's share of the mean over the global batch: the sum over its own rows divided by the number of
// rows of all trainers. The gradients of all trainers then add up to the gradient of one trainer with the whole batch.
#pragma once

#include <torch/torch.h>

#include "services/base/status.h"
#include "services/job/dist_training.h"

namespace espalier::trainer {

enum class LossKind { kCrossEntropy, kBinaryCrossEntropy, kSquaredError };

// Returns the loss of a task with labels, which excludes link prediction (checked).
LossKind LossFor(const job::Task& task);

// Checks labels, one row per seed (a node or an edge). Labels by kind (outputs are f32 [S, C]):
//   kCrossEntropy        i64 [S], a class in [0, C), or -1: unlabeled
//   kBinaryCrossEntropy  f32 [S, C] of 0 and 1; NaN: unlabeled
//   kSquaredError        f32 [S, C] (or [S] if C = 1); NaN: unlabeled
// InvalidArgument: the dtype, the shape or a value is wrong; names the first row with a wrong value.
Status CheckLabels(LossKind kind, const torch::Tensor& labels, int64_t num_outputs);

// Returns an f32 scalar on the device of the outputs, to which it copies the labels: the sum over labeled entries
// divided by global_num_seeds. For labels in columns it is also divided by the number of columns, so that a fully
// labeled batch has torch's mean. Zero, with a gradient of zeros, for an empty share.
torch::Tensor Loss(LossKind kind, const torch::Tensor& outputs, const torch::Tensor& labels, int64_t global_num_seeds);

}  // namespace espalier::trainer
