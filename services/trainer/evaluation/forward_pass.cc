#include "services/trainer/evaluation/forward_pass.h"

namespace espalier::trainer {
namespace {

// Returns the rows of the seed nodes. Those of several node types follow each other in ascending order of type, as
// sampler::LinkSeeds numbers them.
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
  const std::vector<torch::Tensor> original_ids = OnDevice(tensors.original_ids, model.device());
  run.original_ids = &original_ids;
  run.degrees = &tensors.degrees;
  TypedRows rows = OnDevice(std::move(tensors.features), model.device());
  for (int layer = 0; layer < model.num_layers(); ++layer) {
    // The rows that a layer writes are exactly those that the next layer reads (mini_batch.h).
    rows = model.Layer(layer, tensors.batch.layers[static_cast<size_t>(layer)], rows, run);
  }
  return RowsOfSeeds(rows, tensors.batch);
}

}  // namespace espalier::trainer
