// All layers over a sampled mini-batch.
#pragma once

#include "services/trainer/data/batch_tensors.h"

namespace espalier::trainer {

// Takes the features, which nobody needs any more once the first layer has read them: f32 [seeds, C], of edges between
// several node types one type's seeds after the other's. `run`'s original ids are the batch's. Throws what torch and
// collectives throw: with autograd around it, the training loop catches.
torch::Tensor ForwardPass(Model& model, BatchTensors& tensors, LayerRun run);

}  // namespace espalier::trainer
