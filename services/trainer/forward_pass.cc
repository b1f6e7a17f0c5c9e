#include "services/trainer/forward_pass.h"

namespace espalier::trainer {

torch::Tensor ForwardPass(Model& model, const BatchTensors& tensors, LayerRun run) {
  run.original_ids = &tensors.original_ids;
  run.degrees = &tensors.degrees;
  TypedRows rows = tensors.features;
  for (int layer = 0; layer < model.num_layers(); ++layer) {
    // What a layer writes is what the next one reads: a mini-batch's nodes are numbered that way.
    rows = model.Layer(layer, tensors.batch.layers[static_cast<size_t>(layer)], rows, run);
  }
  return rows[tensors.batch.seed_type.value];
}

}  // namespace espalier::trainer
