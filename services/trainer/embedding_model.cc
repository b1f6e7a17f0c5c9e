#include "services/trainer/embedding_model.h"

#include "services/base/check.h"
#include "services/trainer/hidden_epilogue.h"

namespace espalier::trainer {

EmbeddingModel::EmbeddingModel(const ModelOptions& options, bool rows_are_embeddings) : options_(options) {
  const int64_t width = options.input_widths[options.seed_type.value];
  if (!rows_are_embeddings) {
    input_ =
        register_module("input", Linear(width, options.num_outputs, Bias::kZeros, /*gain=*/1.0, options.seed, "input"));
  }
}

TypedRows EmbeddingModel::Layer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs,
                                const LayerRun& run) {
  ESPALIER_CHECK(layer == 0 && inputs.size() == options_.schema.num_node_types());
  const uint16_t type = options_.seed_type.value;
  torch::Tensor rows = inputs[type];
  if (!rows.defined()) rows = torch::empty({0, options_.input_widths[type]});
  ESPALIER_CHECK(rows.size(0) == int64_t{edges.num_outputs[type]} && rows.size(1) == options_.input_widths[type])
      << "[" << rows.size(0) << ", " << rows.size(1) << "] rows for " << edges.num_outputs[type] << " nodes";
  if (input_) rows = input_->forward(rows);
  TypedRows outputs(inputs.size());
  outputs[type] = DropElements(rows, InputDropoutOf(options_.model.dropout, options_.seed_type, rows.size(0), run));
  return outputs;
}

Result<std::shared_ptr<Model>> MakeEmbeddingModel(const ModelOptions& options) {
  if (options.num_layers != 1 || !options.relations.front().empty()) {
    return InvalidArgument("spec.training.sampling.layers: the model Embedding has none");
  }
  const std::string& type = options.schema.NodeTypeName(options.seed_type);
  const int64_t width = options.input_widths[options.seed_type.value];
  if (width == 0) {
    return InvalidArgument("spec.training.inputs: the model Embedding needs features or an embedding of node type '" +
                           type + "'");
  }
  const bool rows_are_embeddings = options.rows_are_embeddings && width == options.num_outputs;
  return std::shared_ptr<Model>(std::make_shared<EmbeddingModel>(options, rows_are_embeddings));
}

}  // namespace espalier::trainer
