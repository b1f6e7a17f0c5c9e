#include "services/trainer/model/model.h"

#include <algorithm>

#include "services/trainer/model/embedding_model.h"
#include "services/trainer/model/graph_model.h"
#include "services/trainer/model/script_model.h"
#include "services/trainer/ops/autocast.h"

namespace espalier::trainer {
namespace {

Status CheckRelations(const ModelOptions& options) {
  if (options.relations.size() != static_cast<size_t>(options.num_layers)) {
    return InvalidArgument("relations for " + std::to_string(options.relations.size()) + " layers, expected " +
                           std::to_string(options.num_layers));
  }
  for (const std::vector<EdgeTypeId>& relations : options.relations) {
    for (size_t r = 0; r < relations.size(); ++r) {
      if (relations[r].value >= options.schema.num_edge_types())
        return InvalidArgument("relations: edge type " + std::to_string(relations[r].value) + " does not exist");
      if (r > 0 && relations[r] <= relations[r - 1]) return InvalidArgument("relations must be in ascending order");
    }
  }
  return {};
}

Status CheckOptions(const ModelOptions& options) {
  if (options.num_layers < 1) return InvalidArgument("a model needs at least one layer");
  if (options.num_outputs < 1) return InvalidArgument("a model needs at least one output");
  if (options.model.hidden_size < 1) return InvalidArgument("hiddenSize must be at least 1");
  if (!(options.model.dropout >= 0 && options.model.dropout < 1)) {
    return InvalidArgument("dropout must be from 0 to below 1");
  }
  if (options.model.heads < 1 || options.model.output_heads < 1)
    return InvalidArgument("heads and outputHeads must be at least 1");
  if (options.model.hidden_size % options.model.heads != 0) {
    return InvalidArgument("hiddenSize must be a multiple of heads");
  }
  if (!(options.model.attention_dropout >= 0 && options.model.attention_dropout < 1)) {
    return InvalidArgument("attentionDropout must be from 0 to below 1");
  }
  if (options.model.num_bases < 0) return InvalidArgument("numBases must not be negative");
  for (const NodeTypeId type : ListSeedTypes(options)) {
    if (type.value >= options.schema.num_node_types())
      return InvalidArgument("seed node type " + std::to_string(type.value) + " does not exist");
  }
  if (options.input_widths.size() != options.schema.num_node_types()) {
    return InvalidArgument("input widths for " + std::to_string(options.input_widths.size()) +
                           " node types, expected " + std::to_string(options.schema.num_node_types()));
  }
  if (std::any_of(options.input_widths.begin(), options.input_widths.end(), [](int64_t width) { return width < 0; })) {
    return InvalidArgument("an input width is negative");
  }
  return CheckRelations(options);
}

}  // namespace

TypedRows ToDevice(TypedRows rows, torch::Device device) {
  for (torch::Tensor& tensor : rows) {
    if (tensor.defined()) tensor = tensor.to(device);
  }
  return rows;
}

void Model::MoveTo(torch::Device device) {
  to(device);
  device_ = device;
}

TypedRows Model::Layer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs, const LayerRun& run) {
  const AutocastScope autocast(precision_, device_.type());
  return ComputeLayer(layer, edges, inputs, run);
}

std::vector<NodeTypeId> ListSeedTypes(const ModelOptions& options) {
  if (options.seed_types.empty()) return {options.seed_type};
  return options.seed_types;
}

Result<std::shared_ptr<Model>> MakeModel(const ModelOptions& options) {
  if (options.model.type == job::ModelType::kTorchScript) return MakeScriptModel(options);
  RETURN_IF_ERROR(CheckOptions(options));
  if (options.model.type == job::ModelType::kEmbedding) return MakeEmbeddingModel(options);
  return std::shared_ptr<Model>(std::make_shared<GraphModel>(options));
}

}  // namespace espalier::trainer
