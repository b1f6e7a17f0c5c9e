#include "services/trainer/graph_model.h"

#include "services/base/check.h"
#include "services/trainer/rgcn_convolution.h"
#include "services/trainer/sage_convolution.h"

namespace espalier::trainer {
namespace {

// Types read by a layer that writes `written`: the written rows themselves and their in-neighbours.
std::vector<bool> ReadFor(const graph::GraphSchema& schema, const std::vector<EdgeTypeId>& relations,
                          const std::vector<bool>& written) {
  std::vector<bool> read = written;
  for (const EdgeTypeId relation : relations) {
    if (written[schema.DestinationOf(relation).value]) read[schema.SourceOf(relation).value] = true;
  }
  return read;
}

bool NeedsProjection(const ModelOptions& options) {
  return options.schema.num_node_types() > 1 || options.input_widths.front() == 0;
}

std::string LayerName(int layer) { return "layer" + std::to_string(layer); }

}  // namespace

GraphModel::GraphModel(const ModelOptions& options) : options_(options) {
  const auto num_layers = static_cast<size_t>(options.num_layers);
  written_.resize(num_layers);
  std::vector<bool> next(options.schema.num_node_types(), false);
  next[options.seed_type.value] = true;
  for (size_t layer = num_layers; layer-- > 0;) {
    written_[layer] = next;
    next = ReadFor(options.schema, options.relations[layer], next);
  }
  if (NeedsProjection(options)) {
    projection_ = register_module(
        "input", InputProjection(options.schema, options.input_widths, next, options.model.hidden_size, options.seed));
  }
  for (int layer = 0; layer < options.num_layers; ++layer) {
    convolutions_.push_back(register_module(LayerName(layer), MakeConvolution(layer)));
    if (layer + 1 == options.num_layers) continue;
    epilogues_.push_back(register_module("epilogue" + std::to_string(layer),
                                         HiddenEpilogue(options.model.normalization, OutputWidth(layer))));
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
  }
  ESPALIER_CHECK(false) << "no such model type";
  return nullptr;
}

int64_t GraphModel::OutputWidth(int layer) const {
  return layer + 1 == options_.num_layers ? options_.num_outputs : options_.model.hidden_size;
}

int64_t GraphModel::InputWidth(int layer) const {
  return layer == 0 && !NeedsProjection(options_) ? options_.input_widths.front() : options_.model.hidden_size;
}

WrittenRows GraphModel::WrittenBy(int layer, const sampler::BatchLayer& edges) const {
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

TypedRows GraphModel::RowsRead(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs) {
  const bool projects = layer == 0 && projection_;
  TypedRows rows = projects ? projection_->forward(inputs, edges.num_inputs) : inputs;
  for (size_t type = 0; type < rows.size(); ++type) {
    if (!rows[type].defined()) rows[type] = torch::empty({0, InputWidth(layer)});
    ESPALIER_CHECK(rows[type].size(0) == int64_t{edges.num_inputs[type]} && rows[type].size(1) == InputWidth(layer))
        << "layer " << layer << " reads [" << edges.num_inputs[type] << ", " << InputWidth(layer) << "] rows of type "
        << type << " and was given [" << rows[type].size(0) << ", " << rows[type].size(1) << "]";
  }
  return rows;
}

TypedRows GraphModel::Layer(int layer, const sampler::BatchLayer& edges, const TypedRows& inputs, const LayerRun& run) {
  ESPALIER_CHECK(layer >= 0 && layer < options_.num_layers && inputs.size() == options_.schema.num_node_types());
  const WrittenRows written = WrittenBy(layer, edges);
  const TypedRows read = RowsRead(layer, edges, inputs);
  torch::Tensor sum = convolutions_[static_cast<size_t>(layer)]->Forward(edges, read, written);
  if (layer + 1 == options_.num_layers) {
    sum = sum + output_bias_;
  } else {
    const DropoutPlan dropout = DropoutOf(options_.model.dropout, layer, written.types, written.counts, run);
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
