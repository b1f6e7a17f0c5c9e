#include "services/trainer/model/embedding_model.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/trainer/model/hidden_epilogue.h"

namespace espalier::trainer {

namespace {

bool RowsAreEmbeddings(const ModelOptions& options, NodeTypeId type) {
  const std::vector<bool>& flags = options.rows_are_embeddings;
  return type.value < flags.size() && flags[type.value] && options.input_widths[type.value] == options.num_outputs;
}

// Returns "input", with the type's name and id if there are several seed types.
std::string MakeInputName(const ModelOptions& options, NodeTypeId type) {
  if (ListSeedTypes(options).size() == 1) return "input";
  std::string name = options.schema.NodeTypeName(type);
  std::replace(name.begin(), name.end(), '.', '_');  // dots separate the names of nested modules
  return "input_" + name + "_" + std::to_string(type.value);
}

}  // namespace

EmbeddingModel::EmbeddingModel(const ModelOptions& options)
    : Model(options.precision),
      options_(options),
      seed_types_(ListSeedTypes(options)),
      inputs_(options.input_widths.size(), Linear(nullptr)) {
  for (const NodeTypeId type : seed_types_) {
    if (RowsAreEmbeddings(options, type)) continue;
    const std::string name = MakeInputName(options, type);
    inputs_[type.value] = register_module(name, Linear(options.input_widths[type.value], options.num_outputs,
                                                       Bias::kZeros, /*gain=*/1.0, options.seed, name));
  }
}

TypedRows EmbeddingModel::ComputeLayer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs,
                                       const LayerRun& run) {
  ESPALIER_CHECK(layer == 0 && inputs.size() == options_.schema.num_node_types());
  TypedRows outputs(inputs.size());
  for (const NodeTypeId seed_type : seed_types_) {
    const uint16_t type = seed_type.value;
    torch::Tensor rows = inputs[type];
    if (!rows.defined()) rows = torch::empty({0, options_.input_widths[type]}, device());
    ESPALIER_CHECK(rows.size(0) == int64_t{edges.num_outputs[type]} && rows.size(1) == options_.input_widths[type])
        << "[" << rows.size(0) << ", " << rows.size(1) << "] rows for " << edges.num_outputs[type] << " nodes";
    if (inputs_[type]) rows = inputs_[type]->forward(rows);
    outputs[type] = DropElements(rows, MakeInputDropout(options_.model.dropout, seed_type, rows.size(0), run));
  }
  return outputs;
}

Result<std::shared_ptr<Model>> MakeEmbeddingModel(const ModelOptions& options) {
  if (options.num_layers != 1 || !options.relations.front().empty()) {
    return InvalidArgument(
        "spec.training.sampling.layers: expected none, because the model Embedding passes no messages");
  }
  for (const NodeTypeId type : ListSeedTypes(options)) {
    if (options.input_widths[type.value] > 0) continue;
    return InvalidArgument("spec.training.inputs: the model Embedding needs features or an embedding of node type '" +
                           options.schema.NodeTypeName(type) + "'");
  }
  return std::shared_ptr<Model>(std::make_shared<EmbeddingModel>(options));
}

}  // namespace espalier::trainer
