// ComputeLayer computes one layer: PrepareInputs projects the features (layer 0) and checks all shapes, the convolution
// returns the rows of all written node types in one matrix, the epilogue or the output bias is applied to the whole
// matrix, and the matrix is split by type. ListWrittenRows includes every type that some trainer may write, even with
// zero rows, so that all trainers run the same operations, as the collectives of batch normalization require.
#include "services/trainer/model/graph_model.h"

#include "services/base/check.h"
#include "services/trainer/model/gat_convolution.h"
#include "services/trainer/model/gcn_convolution.h"
#include "services/trainer/model/layer_node_types.h"
#include "services/trainer/model/rgcn_convolution.h"
#include "services/trainer/model/sage_convolution.h"

namespace espalier::trainer {
namespace {

bool NeedsProjection(const ModelOptions& options) {
  return options.schema.num_node_types() > 1 || options.input_widths.front() == 0;
}

// The papers on GCN, GAT and GATv2 also apply dropout to the input of the first layer.
bool HasInputDropout(job::ModelType type) {
  return type != job::ModelType::kGraphSage && type != job::ModelType::kRgcn;
}

// The papers on GAT and GATv2 use ELU.
Nonlinearity ChooseNonlinearity(job::ModelType type) {
  return job::IsAttention(type) ? Nonlinearity::kElu : Nonlinearity::kRelu;
}

std::string LayerName(int layer) { return "layer" + std::to_string(layer); }

}  // namespace

GraphModel::GraphModel(const ModelOptions& options) : Model(options.precision), options_(options) {
  LayerNodeTypes types = FindLayerNodeTypes(options.schema, options.relations, ListSeedTypes(options));
  written_ = std::move(types.written);
  if (NeedsProjection(options)) {
    projection_ =
        register_module("input", InputProjection(options.schema, options.input_widths, types.read_by_first_layer,
                                                 options.model.hidden_size, options.seed));
  }
  for (int layer = 0; layer < options.num_layers; ++layer) {
    convolutions_.push_back(register_module(LayerName(layer), MakeConvolution(layer)));
    if (layer + 1 == options.num_layers) continue;
    epilogues_.push_back(register_module(
        "epilogue" + std::to_string(layer),
        HiddenEpilogue(options.model.normalization, ChooseNonlinearity(options.model.type), OutputWidth(layer))));
  }
  output_bias_ = register_parameter("output_bias", torch::zeros({options.num_outputs}));
}

std::shared_ptr<Convolution> GraphModel::MakeConvolution(int layer) const {
  const ModelOptions& o = options_;
  switch (o.model.type) {
    case job::ModelType::kGraphSage:
      return std::make_shared<SageConvolution>(o.model.aggregator, InputWidth(layer), OutputWidth(layer), o.schema,
                                               o.seed, LayerName(layer));
    case job::ModelType::kRgcn:
      return std::make_shared<RgcnConvolution>(o.relations[static_cast<size_t>(layer)], o.model.num_bases,
                                               InputWidth(layer), OutputWidth(layer), o.schema, o.seed,
                                               LayerName(layer));
    case job::ModelType::kGcn:
    case job::ModelType::kGat:
    case job::ModelType::kGatv2:
      return std::make_shared<PerRelationConvolution>(
          o.relations[static_cast<size_t>(layer)], layer, InputWidth(layer), OutputWidth(layer), o.schema, o.seed,
          LayerName(layer), [&](const std::string& name) { return MakeRelationConvolution(layer, name); });
    case job::ModelType::kEmbedding:
    case job::ModelType::kTorchScript: break;  // not models of this class
  }
  ESPALIER_CHECK(false) << "unknown model type";
  return nullptr;
}

std::shared_ptr<RelationConvolution> GraphModel::MakeRelationConvolution(int layer, const std::string& name) const {
  const job::Model& model = options_.model;
  if (model.type == job::ModelType::kGcn) {
    return std::make_shared<GcnConvolution>(InputWidth(layer), OutputWidth(layer), options_.seed, name);
  }
  const bool is_last = layer + 1 == options_.num_layers;
  GatOptions gat{.inputs = InputWidth(layer),
                 .negative_slope = model.negative_slope,
                 .attention_dropout = model.attention_dropout,
                 .seed = options_.seed};
  gat.combined = is_last ? HeadsCombined::kMean : HeadsCombined::kSideBySide;
  gat.shape = is_last ? kernels::HeadShape{model.output_heads, OutputWidth(layer)}
                      : kernels::HeadShape{model.heads, OutputWidth(layer) / model.heads};
  if (model.type == job::ModelType::kGat) return std::make_shared<GatConvolution>(gat, name);
  return std::make_shared<Gatv2Convolution>(gat, name);
}

int64_t GraphModel::OutputWidth(int layer) const {
  return layer + 1 == options_.num_layers ? options_.num_outputs : options_.model.hidden_size;
}

int64_t GraphModel::InputWidth(int layer) const {
  return layer == 0 && !NeedsProjection(options_) ? options_.input_widths.front() : options_.model.hidden_size;
}

WrittenRows GraphModel::ListWrittenRows(int layer, const sampler::BatchLayer& edges) const {
  WrittenRows written;
  const size_t num_types = options_.schema.num_node_types();
  written.first.assign(num_types, -1);
  for (size_t type = 0; type < num_types; ++type) {
    if (!written_[static_cast<size_t>(layer)][type] && edges.num_outputs[type] == 0) continue;
    written.types.push_back(NodeTypeId(static_cast<uint16_t>(type)));
    written.counts.push_back(int64_t{edges.num_outputs[type]});
    written.first[type] = written.total;
    written.total += int64_t{edges.num_outputs[type]};
  }
  return written;
}

TypedRows GraphModel::PrepareInputs(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs) {
  const bool projects = layer == 0 && projection_;
  TypedRows rows = projects ? projection_->forward(inputs, edges.num_inputs) : inputs;
  for (size_t type = 0; type < rows.size(); ++type) {
    if (!rows[type].defined()) rows[type] = torch::empty({0, InputWidth(layer)}, device());
    ESPALIER_CHECK(rows[type].size(0) == int64_t{edges.num_inputs[type]} && rows[type].size(1) == InputWidth(layer))
        << "layer " << layer << ": the input of node type " << type << " is [" << rows[type].size(0) << ", "
        << rows[type].size(1) << "], expected [" << edges.num_inputs[type] << ", " << InputWidth(layer) << "]";
  }
  return rows;
}

void GraphModel::ApplyInputDropout(TypedRows* rows, const LayerRun& run) const {
  for (uint16_t type = 0; type < rows->size(); ++type) {
    torch::Tensor& x = (*rows)[type];
    x = DropElements(x, MakeInputDropout(options_.model.dropout, NodeTypeId(type), x.size(0), run));
  }
}

TypedRows GraphModel::ComputeLayer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs,
                                   const LayerRun& run) {
  ESPALIER_CHECK(layer >= 0 && layer < options_.num_layers && inputs.size() == options_.schema.num_node_types());
  const WrittenRows written = ListWrittenRows(layer, edges);
  TypedRows read = PrepareInputs(layer, edges, inputs);
  if (layer == 0 && HasInputDropout(options_.model.type)) ApplyInputDropout(&read, run);
  torch::Tensor sum = convolutions_[static_cast<size_t>(layer)]->Forward(edges, read, written, run);
  if (layer + 1 == options_.num_layers) {
    sum = sum + output_bias_;
  } else {
    const DropoutPlan dropout = MakeDropout(options_.model.dropout, layer, written.types, written.counts, run);
    sum = epilogues_[static_cast<size_t>(layer)]->forward(sum, dropout, run);
  }

  TypedRows outputs(inputs.size());
  if (written.types.size() == 1) {
    outputs[written.types.front().value] = sum;
    return outputs;
  }
  const std::vector<torch::Tensor> parts = torch::split_with_sizes(sum, written.counts, 0);
  for (size_t k = 0; k < parts.size(); ++k) outputs[written.types[k].value] = parts[k];
  return outputs;
}

}  // namespace espalier::trainer
