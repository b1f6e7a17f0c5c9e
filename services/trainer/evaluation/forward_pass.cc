#include "services/trainer/evaluation/forward_pass.h"

namespace espalier::trainer {
namespace {

// Those of several node types one type after the other, ascending, as sampler::LinkSeeds counts them.
torch::Tensor RowsOfSeeds(const TypedRows& rows, const sampler::MiniBatch& batch) {
  const std::vector<uint32_t>& written = batch.layers.back().num_outputs;
  std::vector<torch::Tensor> of_seeds;
  for (size_t type = 0; type < rows.size(); ++type) {
    if (written[type] > 0) of_seeds.push_back(rows[type]);
  }
  if (of_seeds.empty()) return rows[batch.seed_type.value];  // an empty share
  return of_seeds.size() == 1 ? of_seeds.front() : torch::cat(of_seeds, 0);
}

}  // namespace

torch::Tensor ForwardPass(Model& model, BatchTensors& tensors, LayerRun run) {
  run.original_ids = &tensors.original_ids;
  run.degrees = &tensors.degrees;
  TypedRows rows = std::move(tensors.features);
  for (int layer = 0; layer < model.num_layers(); ++layer) {
    // What a layer writes is what the next one reads: a mini-batch's nodes are numbered that way.
    rows = model.Layer(layer, tensors.batch.layers[static_cast<size_t>(layer)], rows, run);
  }
  return RowsOfSeeds(rows, tensors.batch);
}

}  // namespace espalier::trainer
