// No message passing: a node's embedding is its input. What knowledge graphs are embedded with (DGL-KE, LibKGE), and
// what GraphStorm calls the encoder "mlp".
#pragma once

#include "services/trainer/linear.h"
#include "services/trainer/model.h"

namespace espalier::trainer {

// One layer that reads and writes the same rows, over a mini-batch whose hop draws no neighbours. Inputs that are as
// wide as the outputs are the embeddings themselves where `rows_are_embeddings`; others go through one linear map with
// a bias, "input". Dropout of elements in training.
class EmbeddingModel final : public Model {
 public:
  // Checked: the seed type has inputs, of width num_outputs if rows_are_embeddings; one layer without relations.
  EmbeddingModel(const ModelOptions& options, bool rows_are_embeddings);

  int num_layers() const override { return 1; }
  int64_t OutputWidth(int) const override { return options_.num_outputs; }
  TypedRows Layer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs, const LayerRun& run) override;

 private:
  const ModelOptions options_;
  Linear input_{nullptr};
};

// The model of ModelType::kEmbedding. InvalidArgument where the graph or the inputs do not fit it.
Result<std::shared_ptr<Model>> MakeEmbeddingModel(const ModelOptions& options);

}  // namespace espalier::trainer
