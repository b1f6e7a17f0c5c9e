// A model without message passing: a node's embedding is its input or a linear map of it. It is used for embeddings of
// knowledge graphs (DGL-KE, LibKGE); GraphStorm calls it the encoder "mlp".
#pragma once

#include "services/trainer/model/linear.h"
#include "services/trainer/model/model.h"

namespace espalier::trainer {

// One layer that reads and writes the rows of the seed nodes; its mini-batches have no edges. The inputs of a type are
// the embeddings themselves if ModelOptions::rows_are_embeddings is set for the type and the inputs are as wide as the
// outputs. Otherwise they pass through a linear map with a bias, the module "input" (with several seed types
// "input_TYPE_ID", with the name and id of the node type). In training, dropout is applied to the outputs.
class EmbeddingModel final : public Model {
 public:
  // `options` must have passed the checks of MakeEmbeddingModel.
  explicit EmbeddingModel(const ModelOptions& options);

  int num_layers() const override { return 1; }
  int64_t OutputWidth(int) const override { return options_.num_outputs; }

 private:
  TypedRows ComputeLayer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs,
                         const LayerRun& run) override;
  const ModelOptions options_;
  const std::vector<NodeTypeId> seed_types_;
  std::vector<Linear> inputs_;  // by NodeTypeId; null: the inputs are the embeddings, or the type is not a seed type
};

// Creates the model of ModelType::kEmbedding. InvalidArgument: there are several layers, the layer has relations, or a
// seed type has no inputs.
Result<std::shared_ptr<Model>> MakeEmbeddingModel(const ModelOptions& options);

}  // namespace espalier::trainer
