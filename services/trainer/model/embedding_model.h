// No message passing: a node's embedding is its input. What knowledge graphs are embedded with (DGL-KE, LibKGE), and
// what GraphStorm calls the encoder "mlp".
#pragma once

#include "services/trainer/model/linear.h"
#include "services/trainer/model/model.h"

namespace espalier::trainer {

// One layer that reads and writes the same rows, those of the seed types, over a mini-batch whose hop draws no
// neighbours. Inputs that are as wide as the outputs are the embeddings themselves where
// ModelOptions::rows_are_embeddings says so; others go through one linear map with a bias, "input" (where there are
// several seed types, "input_<node type>_<its number>"). Dropout of elements in training.
class EmbeddingModel final : public Model {
 public:
  // Checked: the seed types have inputs; one layer without relations.
  explicit EmbeddingModel(const ModelOptions& options);

  int num_layers() const override { return 1; }
  int64_t OutputWidth(int) const override { return options_.num_outputs; }
  TypedRows Layer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs, const LayerRun& run) override;

 private:
  const ModelOptions options_;
  const std::vector<NodeTypeId> seed_types_;
  std::vector<Linear> inputs_;  // by NodeTypeId; null: the rows are the embeddings, or are not asked for
};

// The model of ModelType::kEmbedding. InvalidArgument where the graph or the inputs do not fit it.
Result<std::shared_ptr<Model>> MakeEmbeddingModel(const ModelOptions& options);

}  // namespace espalier::trainer
