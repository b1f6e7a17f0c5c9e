// The type of a task's loss function.
#pragma once

#include <torch/torch.h>

#include <functional>

#include "services/trainer/data/batch_tensors.h"

namespace espalier::trainer {

// Returns this rank's share of a mini-batch's loss, a scalar, from the outputs of its seed nodes, f32 [seeds, C]. The
// shares of all ranks add up to the loss of the global batch. An empty share gives zero with a gradient of zeros.
using BatchLoss = std::function<torch::Tensor(const BatchTensors& batch, const torch::Tensor& outputs)>;

}  // namespace espalier::trainer
