// Runs all layers over a sampled mini-batch.
#pragma once

#include "services/trainer/data/batch_tensors.h"

namespace espalier::trainer {

// Copies the mini-batch to the model's device and returns the model's outputs there: f32 [seeds, C]. If the seed nodes
// have several types, the rows are in ascending order of type. Consumes tensors.features, so that the memory is free
// after the first layer. Sets run.original_ids and run.degrees from the mini-batch. Throws ModelError,
// CollectiveError and the exceptions of torch; the caller must catch them.
torch::Tensor ForwardPass(Model& model, BatchTensors& tensors, LayerRun run);

}  // namespace espalier::trainer
