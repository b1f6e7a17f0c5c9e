// The type of a task's loss function.
#pragma once

#include <torch/torch.h>

#include <functional>

#include "services/trainer/data/batch_tensors.h"

namespace espalier::trainer {

// Returns this rank's share of a global batch's loss, an f32 scalar. `outputs` are those of the mini-batch's seed
// nodes, f32 [seeds, C]. The shares of all ranks add up to the loss of the global batch. Without seeds, the loss and
// its gradient are zero.
using BatchLoss = std::function<torch::Tensor(const BatchTensors& batch, const torch::Tensor& outputs)>;

}  // namespace espalier::trainer
