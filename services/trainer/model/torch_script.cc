// The exported module is compiled from generated source. MakeForward writes a few lines of TorchScript for the
// convolution and the epilogue of each layer; kNeighborhoods and kAttention are helper methods that these lines call.
// CollectParts copies the model's parameters and buffers into a tree of modules with the same names, which the source
// uses ("self.layer0.fc_self.weight").
#include "services/trainer/model/torch_script.h"

#include <torch/script.h>

#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "services/base/format_number.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/model/script_model.h"

namespace espalier::trainer {
namespace {

using torch::jit::Module;

// Helper methods of all layers. neighbor_max starts from 0, which does not change a maximum, because x is the result of
// relu; without neighbors it returns 0.
constexpr const char* kNeighborhoods = R"(
def rows_of(self, indptr: Tensor) -> Tensor:
    return torch.repeat_interleave(torch.arange(indptr.size(0) - 1), indptr[1:] - indptr[:-1])

def neighbor_sum(self, x: Tensor, indptr: Tensor, indices: Tensor) -> Tensor:
    zeros = torch.zeros([indptr.size(0) - 1, x.size(1)])
    return zeros.index_add(0, self.rows_of(indptr), x.index_select(0, indices))

def neighbor_max(self, x: Tensor, indptr: Tensor, indices: Tensor) -> Tensor:
    zeros = torch.zeros([indptr.size(0) - 1, x.size(1)])
    return zeros.index_reduce(0, self.rows_of(indptr), x.index_select(0, indices), "amax")

def degree(self, indptr: Tensor) -> Tensor:
    return (indptr[1:] - indptr[:-1]).unsqueeze(1)
)";

// Helper methods of graph attention. `attend` applies the softmax over each destination's edges to the scores and
// returns the weighted sums; `rows` and `sources` are the destination and the source of each edge, self-loops included;
// S is the number of destinations.
constexpr const char* kAttention = R"(
def leaky(self, x: Tensor, slope: float) -> Tensor:
    return torch.relu(x) - slope * torch.relu(-x)

def attend(self, scores: Tensor, values: Tensor, rows: Tensor, sources: Tensor, S: int) -> Tensor:
    H = scores.size(1)
    most = torch.full([S, H], float("-inf")).index_reduce(0, rows, scores, "amax")
    weights = torch.exp(scores - most.index_select(0, rows))
    total = torch.zeros([S, H]).index_add(0, rows, weights)
    weights = weights / total.index_select(0, rows)
    messages = values.index_select(0, sources).view([rows.size(0), H, values.size(1) // H]) * weights.unsqueeze(2)
    return torch.zeros([S, values.size(1)]).index_add(0, rows, messages.flatten(1))
)";

// Returns the lines of forward() that replace x by the output of a layer of graph attention, before the bias of the
// epilogue or of the output is added. The last layer averages its heads. (Views do not use -1, which torch cannot infer
// for a block without rows.)
std::string MakeAttention(const ModelOptions& options, const std::string& layer, bool is_last) {
  const job::Model& model = options.model;
  const std::string part = "self." + layer + ".neighborhood.";
  const std::string heads = std::to_string(is_last ? model.output_heads : model.heads);
  const std::string columns = std::to_string(is_last ? options.num_outputs : model.hidden_size / model.heads);
  const std::string by_head = ", " + heads + ", " + columns + "])";
  const std::string slope = FormatSignificant(model.negative_slope, 17);
  std::string text =
      "    rows = torch.cat([self.rows_of(indptr), torch.arange(S)])\n"
      "    sources = torch.cat([indices, torch.arange(S)])\n";
  if (model.type == job::ModelType::kGat) {
    text += "    v = torch.mm(x, " + part + "fc.weight.t())\n    h = v.view([v.size(0)" + by_head + "\n" +
            "    a = (h * " + part + "attn_src).sum(2).index_select(0, sources)\n" + "    b = (h * " + part +
            "attn_dst).sum(2).index_select(0, rows)\n" + "    scores = self.leaky(a + b, float(" + slope + "))\n";
  } else {
    text += "    v = torch.addmm(" + part + "fc_src.bias, x, " + part + "fc_src.weight.t())\n    q = torch.addmm(" +
            part + "fc_dst.bias, x[:S], " + part + "fc_dst.weight.t())\n" +
            "    e = self.leaky(v.index_select(0, sources) + q.index_select(0, rows), float(" + slope + "))\n" +
            "    scores = (e.view([e.size(0)" + by_head + " * " + part + "attn).sum(2)\n";
  }
  text += "    x = self.attend(scores, v, rows, sources, S)\n";
  return is_last ? text + "    x = x.view([S" + by_head + ".mean(1)\n" : text;
}

// Returns the lines of forward() that replace x by the output of a layer of GraphSAGE, before the bias of the epilogue
// or of the output is added.
std::string MakeConvolution(job::Aggregator aggregator, const std::string& layer) {
  const std::string self_part = "torch.mm(x[:S], self." + layer + ".fc_self.weight.t())";
  const std::string neighbor_weight = "self." + layer + ".fc_neigh.weight.t()";
  switch (aggregator) {
    case job::Aggregator::kMean:
      return "    n = self.neighbor_sum(x, indptr, indices) / self.degree(indptr).clamp(min=1)\n"
             "    x = " +
             self_part + " + torch.mm(n, " + neighbor_weight + ")\n";
    case job::Aggregator::kGcn:
      return "    n = (self.neighbor_sum(x, indptr, indices) + x[:S]) / (self.degree(indptr) + 1)\n"
             "    x = torch.mm(n, " +
             neighbor_weight + ")\n";
    case job::Aggregator::kPool:
      return "    p = torch.relu(torch.addmm(self." + layer + ".fc_pool.bias, x, self." + layer +
             ".fc_pool.weight.t()))\n"
             "    n = self.neighbor_max(p, indptr, indices)\n"
             "    x = " +
             self_part + " + torch.mm(n, " + neighbor_weight + ")\n";
  }
  return "";
}

// Returns the lines of forward() for bias, normalization and activation of a hidden layer.
std::string MakeEpilogue(const job::Model& model, const std::string& epilogue) {
  const std::string part = "self." + epilogue;
  std::string text = "    x = x + " + part + ".bias\n";
  switch (model.normalization) {
    case job::LayerNormalization::kNone: break;
    case job::LayerNormalization::kLayer:
      text += "    x = torch.layer_norm(x, [x.size(1)], " + part + ".layer_norm_weight, " + part +
              ".layer_norm_bias, 1e-5)\n";
      break;
    case job::LayerNormalization::kBatch: {
      const std::string norm = part + ".batch_norm";
      text += "    x = torch.batch_norm(x, " + norm + ".weight, " + norm + ".bias, " + norm + ".running_mean, " + norm +
              ".running_var, False, 0.1, 1e-5, False)\n";
      break;
    }
  }
  return text + (job::IsAttention(model.type) ? "    x = torch.elu(x)\n" : "    x = torch.relu(x)\n");
}

// Returns the source of forward().
std::string MakeForward(const ModelOptions& options) {
  std::string text = "\ndef forward(self, x: Tensor, blocks: List[Tuple[Tensor, Tensor]]) -> Tensor:\n";
  for (int layer = 0; layer < options.num_layers; ++layer) {
    const std::string number = std::to_string(layer);
    text += "    indptr, indices = blocks[" + number + "]\n    S = indptr.size(0) - 1\n";
    const bool is_last = layer + 1 == options.num_layers;
    text += job::IsAttention(options.model.type) ? MakeAttention(options, "layer" + number, is_last)
                                                 : MakeConvolution(options.model.aggregator, "layer" + number);
    if (!is_last) text += MakeEpilogue(options.model, "epilogue" + number);
  }
  return text + "    return x + self.output_bias\n";
}

// A tree of modules that holds tensors by their dotted names.
struct Part {
  std::map<std::string, Part> parts;
  std::map<std::string, torch::Tensor> parameters, buffers;

  // Returns the module that holds the tensor with this dotted name; creates it and its ancestors if necessary. Sets
  // `last` to the last component of the name.
  Part* FindOrAdd(const std::string& dotted, std::string* last) {
    Part* part = this;
    size_t begin = 0;
    for (size_t dot = dotted.find('.'); dot != std::string::npos; dot = dotted.find('.', begin)) {
      part = &part->parts[dotted.substr(begin, dot - begin)];
      begin = dot + 1;
    }
    *last = dotted.substr(begin);
    return part;
  }

  Module Build(const std::string& type_name, const std::shared_ptr<torch::jit::CompilationUnit>& unit) const {
    Module module(c10::QualifiedName(type_name), unit, /*shouldMangle=*/true);
    for (const auto& [name, tensor] : parameters) module.register_parameter(name, tensor, /*is_buffer=*/false);
    for (const auto& [name, tensor] : buffers) module.register_parameter(name, tensor, /*is_buffer=*/true);
    for (const auto& [name, part] : parts) module.register_module(name, part.Build(type_name + "_" + name, unit));
    return module;
  }
};

// Returns copies of the model's parameters and buffers.
Part CollectParts(const Model& model) {
  Part root;
  std::string last;
  for (const auto& item : model.named_parameters()) {
    Part* part = root.FindOrAdd(item.key(), &last);
    part->parameters[last] = CopyToHost(item.value());
  }
  for (const auto& item : model.named_buffers()) {
    Part* part = root.FindOrAdd(item.key(), &last);
    part->buffers[last] = CopyToHost(item.value());
  }
  return root;
}

}  // namespace

Status CheckTorchScript(const ModelOptions& options) {
  if (options.model.type != job::ModelType::kGraphSage && !job::IsAttention(options.model.type)) {
    return Unimplemented("TorchScript is supported only for GraphSAGE, GAT and GATv2");
  }
  if (options.schema.num_node_types() > 1) {
    return Unimplemented("TorchScript is supported only for graphs of one node type");
  }
  if (job::IsAttention(options.model.type) && options.schema.num_edge_types() > 1) {
    return Unimplemented("TorchScript of GAT and GATv2 is supported only for graphs of one relation");
  }
  if (options.input_widths.front() == 0) return Unimplemented("TorchScript is supported only for nodes with features");
  return Status();
}

Result<std::string> MakeTorchScript(const Model& model, const ModelOptions& options) {
  if (options.model.type == job::ModelType::kTorchScript) {
    ASSIGN_OR_RETURN(std::optional<std::string> archive, SerializeScriptModel(model));
    if (archive.has_value()) return *std::move(archive);
  }
  RETURN_IF_ERROR(CheckTorchScript(options));
  try {
    Module module =
        CollectParts(model).Build("__torch__.EspalierModel", std::make_shared<torch::jit::CompilationUnit>());
    module.define(kNeighborhoods + std::string(job::IsAttention(options.model.type) ? kAttention : "") +
                  MakeForward(options));
    std::ostringstream archive(std::ios::binary);
    module.save(archive);
    return archive.str();
  } catch (const std::exception& error) {
    return Internal(std::string("writing TorchScript: ") + error.what());
  }
}

}  // namespace espalier::trainer
