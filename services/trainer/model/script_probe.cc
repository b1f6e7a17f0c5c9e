// ProbeGraph generates edges and features from a fixed Philox key, so that every rank uses the same data. All types
// have the same number of nodes, and row i is node i in every layer. So a layer can read the output of the layer before
// without renumbering.
#include "services/trainer/model/script_probe.h"

#include <algorithm>

#include "services/base/philox.h"
#include "services/trainer/model/layer_node_types.h"
#include "services/trainer/model/model_error.h"
#include "services/trainer/model/parameters.h"

namespace espalier::trainer {
namespace {

constexpr uint64_t kProbeKey = 0x70726F6265;  // arbitrary, but the same on all ranks
constexpr uint32_t kEdgelessStride = 4;       // rows 0, 4, 8, ... have no in-edges
constexpr uint32_t kInEdges = 4;              // number of in-edges of the remaining rows in each relation

// A graph with `num_nodes` nodes of every type; row i is node i in every layer.
class ProbeGraph {
 public:
  ProbeGraph(const ModelOptions& options, uint32_t num_nodes)
      : options_(options),
        num_nodes_(num_nodes),
        types_(FindLayerNodeTypes(options.schema, options.relations, ListSeedTypes(options))) {}

  // Returns the edges of a layer that writes rows of the types `written`.
  sampler::BatchLayer MakeEdges(size_t layer, const std::vector<bool>& written) const {
    const std::vector<bool> read = FindTypesRead(options_.schema, options_.relations[layer], written);
    sampler::BatchLayer edges;
    for (size_t type = 0; type < written.size(); ++type) {
      edges.num_inputs.push_back(read[type] ? num_nodes_ : 0);
      edges.num_outputs.push_back(written[type] ? num_nodes_ : 0);
    }
    for (const EdgeTypeId relation : options_.relations[layer]) {
      sampler::Block block{relation, {0}, {}, {}};
      PhiloxStream random(kProbeKey, relation.value);
      const uint32_t num_rows = edges.num_outputs[options_.schema.DestinationOf(relation).value];
      for (uint32_t row = 0; row < num_rows; ++row) {
        const uint32_t num_edges = row % kEdgelessStride == 0 ? 0 : kInEdges;
        for (uint32_t k = 0; k < num_edges; ++k) block.indices.push_back(random.NextBelow(num_nodes_));
        block.indptr.push_back(static_cast<uint32_t>(block.indices.size()));
      }
      edges.blocks.push_back(std::move(block));
    }
    return edges;
  }

  TypedRows MakeFeatures() const {
    TypedRows features(options_.schema.num_node_types());
    for (size_t type = 0; type < features.size(); ++type) {
      PhiloxStream random(kProbeKey, 1000 + type);
      torch::Tensor& rows = features[type];
      rows = torch::empty({types_.read_by_first_layer[type] ? num_nodes_ : 0, options_.input_widths[type]});
      for (int64_t i = 0; i < rows.numel(); ++i) rows.data_ptr<float>()[i] = 2 * random.NextUnitFloat() - 1;
    }
    return features;
  }

  const std::vector<bool>& written(size_t layer) const { return types_.written[layer]; }

 private:
  const ModelOptions& options_;
  const uint32_t num_nodes_;
  const LayerNodeTypes types_;
};

// Returns the rows that a layer with these edges reads; `rows` may also have rows of types that it does not read.
TypedRows SelectRowsRead(const TypedRows& rows, const sampler::BatchLayer& edges) {
  TypedRows read(rows.size());
  for (size_t type = 0; type < rows.size(); ++type) {
    if (rows[type].defined()) read[type] = rows[type].narrow(0, 0, int64_t{edges.num_inputs[type]});
  }
  return read;
}

// Returns the width that the rows of all types have.
Result<int64_t> GetWidth(const TypedRows& rows, size_t layer) {
  int64_t width = 0;
  for (const torch::Tensor& tensor : rows) {
    if (!tensor.defined() || tensor.size(1) == width) continue;
    if (width > 0) {
      return InvalidArgument("layer " + std::to_string(layer) + " writes rows of " + std::to_string(width) +
                             " and of " + std::to_string(tensor.size(1)) +
                             " numbers, expected one width for all node types");
    }
    width = tensor.size(1);
  }
  return width;
}

// Runs all layers. Returns the outputs of all seed types and, if options.trains, the gradients of the parameters on
// which they depend.
std::vector<torch::Tensor> RunPass(Model& model, const ModelOptions& options, const ProbeGraph& graph) {
  const torch::AutoGradMode gradients(options.trains);
  TypedRows rows = graph.MakeFeatures();
  const LayerRun run{.training = options.trains, .seed = options.seed};
  for (int layer = 0; layer < options.num_layers; ++layer) {
    const auto l = static_cast<size_t>(layer);
    rows = model.Layer(layer, graph.MakeEdges(l, graph.written(l)), rows, run);
  }
  std::vector<torch::Tensor> numbers, sums;
  for (const NodeTypeId type : ListSeedTypes(options)) {
    const torch::Tensor& outputs = rows[type.value];
    numbers.push_back(outputs.detach());
    if (outputs.requires_grad()) sums.push_back(outputs.square().sum());
  }
  if (!options.trains) return numbers;
  std::vector<torch::Tensor> parameters;
  for (const auto& [name, parameter] : GetParameters(model)) parameters.push_back(parameter);
  for (const torch::Tensor& gradient : torch::autograd::grad(sums, parameters, {}, /*retain_graph=*/{},
                                                             /*create_graph=*/false, /*allow_unused=*/true)) {
    if (gradient.defined()) numbers.push_back(gradient);
  }
  return numbers;
}

bool SameBits(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const torch::Tensor& x, const torch::Tensor& y) {
    return std::ranges::equal(FromTorch(x).byte_span(), FromTorch(y).byte_span());
  });
}

}  // namespace

Status ProbeWidths(Model& model, const ModelOptions& options, std::vector<int64_t>* widths) {
  const ProbeGraph graph(options, /*num_nodes=*/8);
  const torch::NoGradGuard no_gradients;
  TypedRows rows = graph.MakeFeatures();
  try {
    for (size_t layer = 0; layer < options.relations.size(); ++layer) {
      const TypedRows read = rows;
      rows = model.Layer(static_cast<int>(layer), graph.MakeEdges(layer, graph.written(layer)), read, LayerRun());
      ASSIGN_OR_RETURN(const int64_t width, GetWidth(rows, layer));
      widths->push_back(width);
      for (size_t type = 0; type < rows.size(); ++type) {
        if (!graph.written(layer)[type]) continue;
        std::vector<bool> alone(rows.size(), false);
        alone[type] = true;
        const sampler::BatchLayer edges = graph.MakeEdges(layer, alone);
        const TypedRows of_type = model.Layer(static_cast<int>(layer), edges, SelectRowsRead(read, edges), LayerRun());
        ASSIGN_OR_RETURN(const int64_t width_alone, GetWidth(of_type, layer));
        if (width_alone == width) continue;
        return InvalidArgument("layer " + std::to_string(layer) + " writes rows of " + std::to_string(width_alone) +
                               " numbers if only node type '" + options.schema.node_types()[type] +
                               "' is written, but rows of " + std::to_string(width) +
                               " numbers if several types are written, expected one width");
      }
    }
  } catch (const ModelError& error) {
    return error.status();
  }
  return Status();
}

Result<bool> IsRepeatable(Model& model, const ModelOptions& options) {
  const ProbeGraph graph(options, /*num_nodes=*/1024);
  NamedTensors before = GetState(model);
  for (auto& [name, tensor] : before) tensor = tensor.detach().clone();
  const auto restore = [&] { return LoadState(model, before); };  // buffers change in training
  try {
    const std::vector<torch::Tensor> first = RunPass(model, options, graph);
    RETURN_IF_ERROR(restore());
    const std::vector<torch::Tensor> second = RunPass(model, options, graph);
    RETURN_IF_ERROR(restore());
    return SameBits(first, second);
  } catch (const ModelError& error) {
    return error.status();
  } catch (const std::exception& error) {
    return InvalidArgument(std::string("computing gradients fails: ") + error.what());
  }
}

}  // namespace espalier::trainer
