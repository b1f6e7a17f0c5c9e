// All layers over a sampled mini-batch.
#pragma once

#include "services/trainer/data/batch_tensors.h"

namespace espalier::trainer {

// f32 [seeds, C], of edges between several node types one type's seeds after the other's. `run`'s original ids are the
// batch's. Throws what torch and collectives throw: with autograd around it, the training loop catches.
torch::Tensor ForwardPass(Model& model, const BatchTensors& tensors, LayerRun run);

}  // namespace espalier::trainer
