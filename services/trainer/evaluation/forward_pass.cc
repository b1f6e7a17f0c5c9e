#include "services/trainer/evaluation/forward_pass.h"

namespace espalier::trainer {
namespace {

// Returns the rows of the seed nodes, in ascending order of node type: the row numbers in sampler::LinkSeeds and
// EdgeSeeds refer to this order.
torch::Tensor SelectSeedRows(const TypedRows& rows, const sampler::MiniBatch& batch) {
  const std::vector<uint32_t>& written = batch.layers.back().num_outputs;
  std::vector<torch::Tensor> seed_rows;
  for (size_t type = 0; type < rows.size(); ++type) {
    if (written[type] > 0) seed_rows.push_back(rows[type]);
  }
  if (seed_rows.empty()) return rows[batch.seed_type.value];  // this rank has no seeds
  return seed_rows.size() == 1 ? seed_rows.front() : torch::cat(seed_rows, 0);
}

}  // namespace

torch::Tensor ForwardPass(Model& model, BatchTensors& tensors, LayerRun run) {
  const std::vector<torch::Tensor> original_ids = ToDevice(tensors.original_ids, model.device());
  run.original_ids = &original_ids;
  run.degrees = &tensors.degrees;
  TypedRows rows = ToDevice(std::move(tensors.features), model.device());
  for (int layer = 0; layer < model.num_layers(); ++layer) {
    // The rows that a layer writes are exactly the rows that the next layer reads (mini_batch.h).
    rows = model.Layer(layer, tensors.batch.layers[static_cast<size_t>(layer)], rows, run);
  }
  return SelectSeedRows(rows, tensors.batch);
}

}  // namespace espalier::trainer
