// Runs all layers over a sampled mini-batch.
#pragma once

#include "services/trainer/data/batch_tensors.h"

namespace espalier::trainer {

// Returns the model's outputs, f32 [seeds, C], on the model's device, to which it copies the mini-batch. For edges
// between several node types, the seed nodes of each type follow each other in ascending order of type. Consumes
// tensors.features, so that the memory is free after the first layer. Sets run.original_ids and run.degrees from the
// mini-batch. Throws the exceptions of torch and of collective operations; the caller catches them.
torch::Tensor ForwardPass(Model& model, BatchTensors& tensors, LayerRun run);

}  // namespace espalier::trainer
