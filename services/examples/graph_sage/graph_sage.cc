// The model is written with torch modules over the blocks of a mini-batch, and the example has its own data
// parallelism: each rank computes the sum of the losses of its share, divided by the size of the global batch, and
// AddUpGradients sums the gradients of all ranks. Parameters start equal on all ranks and stay equal without a
// broadcast.
#include "graph_sage.h"

#include <torch/torch.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "espalier/client/init_process_group.h"
#include "espalier/client/node_data_loader.h"

namespace example {

using namespace espalier;
using namespace espalier::client;

constexpr NodeTypeId kNode(0);  // a graph of one node type and one relation
constexpr int64_t kHidden = 256;

struct Batch {
  sampler::MiniBatch blocks;  // DGL: input_nodes, output_nodes, blocks
  torch::Tensor features;     // f32 [nodes, F]  of all input nodes of the first layer; the seeds come first
  torch::Tensor labels;       // i64 [seeds]
};
using Loader = NodeDataLoader<Batch>;

torch::Tensor ToTorch(const Tensor& rows, torch::ScalarType type) {
  return torch::from_blob(const_cast<std::byte*>(rows.bytes()), rows.shape(), type).clone();
}

torch::Tensor ToTorch(const std::vector<uint32_t>& indices) {
  return torch::tensor(std::vector<int64_t>(indices.begin(), indices.end()), torch::kInt64);
}

// Returns the mean over the sampled in-neighbors of each output row, zeros if it has none: f32 [input rows, F] ->
// [output rows, F].
torch::Tensor ComputeNeighborMeans(const sampler::Block& block, const torch::Tensor& x) {
  const torch::Tensor degrees = torch::diff(ToTorch(block.indptr));
  const torch::Tensor sums = torch::zeros({degrees.size(0), x.size(1)})
                                 .index_add(0, torch::repeat_interleave(degrees),  // the output row of each edge
                                            x.index_select(0, ToTorch(block.indices)));
  return sums / degrees.clamp_min(1).unsqueeze(1);
}

class Sage : public torch::nn::Module {  // DGL: two dglnn.SAGEConv(..., "mean")
 public:
  Sage(int64_t inputs, int64_t hidden, int64_t outputs) {
    for (const auto& [from, to] : {std::pair(inputs, hidden), std::pair(hidden, outputs)}) {
      const std::string layer = std::to_string(self_.size());
      self_.push_back(register_module("self" + layer, torch::nn::Linear(from, to)));
      neighbors_.push_back(
          register_module("neighbors" + layer, torch::nn::Linear(torch::nn::LinearOptions(from, to).bias(false))));
      for (auto& linear : {self_.back(), neighbors_.back()}) {
        torch::nn::init::xavier_uniform_(linear->weight, std::sqrt(2.0));
      }
    }
  }

  // [nodes, F] -> [seeds, C]
  torch::Tensor forward(const sampler::MiniBatch& blocks, torch::Tensor x) {
    for (size_t layer = 0; layer < self_.size(); ++layer) {
      const int64_t num_outputs = blocks.layers[layer].num_outputs[kNode.value];
      const torch::Tensor neighbors = ComputeNeighborMeans(blocks.layers[layer].blocks[0], x);
      x = self_[layer]->forward(x.narrow(0, 0, num_outputs)) + neighbors_[layer]->forward(neighbors);
      if (layer + 1 < self_.size()) x = torch::dropout(torch::relu(x), 0.5, is_training());
    }
    return x;
  }

 private:
  std::vector<torch::nn::Linear> self_, neighbors_;
};

// Sums the gradients of all ranks, where DistributedDataParallel would average them. A rank whose share has no seeds
// contributes zeros.
Status AddUpGradients(const torch::nn::Module& model, collective::Collective& group, Deadline deadline) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& parameter : model.parameters()) {
    parts.push_back((parameter.grad().defined() ? parameter.grad() : torch::zeros_like(parameter)).flatten());
  }
  const torch::Tensor all = torch::cat(parts);
  RETURN_IF_ERROR(group.AllReduceSum(std::span(all.data_ptr<float>(), static_cast<size_t>(all.numel())), deadline));
  int64_t at = 0;
  for (const torch::Tensor& parameter : model.parameters()) {
    parameter.mutable_grad() = all.narrow(0, at, parameter.numel()).view_as(parameter).clone();
    at += parameter.numel();
  }
  return Status();
}

// [example]
// Makes a loader; a global batch has 1000 seeds per rank.
Result<std::unique_ptr<Loader>> MakeLoader(const DistGraph& graph, std::vector<GlobalNodeId> nodes,
                                           int32_t first_fanout, int32_t second_fanout) {
  NodeLoaderOptions options{.seed_type = kNode, .batch_size = 1000 * graph.world_size()};
  options.sampling.layers = {{{first_fanout}}, {{second_fanout}}};
  options.sampling.seed = 1;
  const auto collate = [&graph](sampler::MiniBatch blocks, const Deadline& deadline) -> Result<Batch> {
    const std::vector<GlobalNodeId>& read = blocks.nodes[kNode.value];
    const std::vector<GlobalNodeId> seeds(read.begin(), read.begin() + blocks.num_seeds);
    ASSIGN_OR_RETURN(const Tensor features,
                     graph.GatherNodeRows(kNode, "node-feat", read, deadline));  // g.ndata["feat"][input_nodes]
    ASSIGN_OR_RETURN(const Tensor labels, graph.GatherNodeRows(kNode, "node-label", seeds, deadline));
    return Batch{std::move(blocks), ToTorch(features, torch::kFloat32), ToTorch(labels, torch::kInt64).flatten()};
  };
  return Loader::Make(graph, std::move(nodes), options, collate);
}

// Runs one epoch; without an optimizer it only evaluates. Returns the sum of losses and the number of correct seeds,
// over all ranks.
Result<std::array<double, 2>> Epoch(const DistGraph& graph, Loader& loader, uint32_t epoch, Sage& model,
                                    collective::Collective& group, torch::optim::Optimizer* optimizer) {
  model.train(optimizer != nullptr);
  const torch::AutoGradMode with_gradients(optimizer != nullptr);
  std::array<double, 2> sums = {};
  RETURN_IF_ERROR(loader.StartEpoch(epoch));
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<Batch> batch, loader.Next());
    if (!batch) break;  // all ranks have the same number of batches: no model.join() is needed
    if (optimizer != nullptr) optimizer->zero_grad();
    if (batch->blocks.num_seeds > 0) {
      const torch::Tensor logits = model.forward(batch->blocks, batch->features);
      const torch::Tensor loss = torch::nll_loss(torch::log_softmax(logits, 1), batch->labels, {}, at::Reduction::Sum);
      if (optimizer != nullptr) (loss / static_cast<double>(batch->blocks.global_num_seeds)).backward();
      sums[0] += loss.item<double>();
      sums[1] += logits.argmax(1).eq(batch->labels).sum().item<double>();
    }
    if (optimizer == nullptr) continue;
    RETURN_IF_ERROR(AddUpGradients(model, group, graph.CallDeadline()));
    optimizer->step();
  }
  RETURN_IF_ERROR(group.AllReduceSum(std::span<double>(sums), graph.CallDeadline()));
  return sums;
}
// [example]

Result<SageResult> TrainSage(const Context& context, const SageOptions& options) {
  ASSIGN_OR_RETURN(const auto graph, DistGraph::Open(context));
  ASSIGN_OR_RETURN(const auto group, InitProcessGroup(*graph, context, graph->CallDeadline()));  // init_process_group
  const auto nodes_of = [&](graph::SplitPartName part) { return graph->SplitNodes(kNode, options.split, part); };
  ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> train_nodes, nodes_of(graph::SplitPartName::kTrain));
  ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> test_nodes, nodes_of(graph::SplitPartName::kTest));
  if (train_nodes.empty()) return InvalidArgument("the split '" + options.split + "' has no training nodes");
  ASSIGN_OR_RETURN(const Tensor labels, graph->GatherNodeRows(kNode, "node-label", train_nodes));
  ASSIGN_OR_RETURN(const Tensor first, graph->GatherNodeRows(kNode, "node-feat", std::array{GlobalNodeId(0)}));
  if (first.dtype() != DType::kF32 || labels.dtype() != DType::kI64) {
    return InvalidArgument("expected node-feat of F32 and node-label of I64");
  }
  ASSIGN_OR_RETURN(const auto train, MakeLoader(*graph, train_nodes, 10, 25));  // NeighborSampler([10, 25])
  ASSIGN_OR_RETURN(const auto test,
                   MakeLoader(*graph, test_nodes, sampler::kFullNeighborhood, sampler::kFullNeighborhood));

  torch::manual_seed(1);  // the same first parameters on every rank
  const auto model =
      std::make_shared<Sage>(first.num_elements(), kHidden, ToTorch(labels, torch::kInt64).max().item<int64_t>() + 1);
  torch::manual_seed(2 + context.rank.value);  // independent dropout on each rank
  torch::optim::Adam optimizer(model->parameters(),
                               torch::optim::AdamOptions(options.learning_rate).weight_decay(5e-4));
  SageResult result;
  for (uint32_t epoch = 0; epoch < options.epochs; ++epoch) {
    ASSIGN_OR_RETURN(const auto sums, Epoch(*graph, *train, epoch, *model, *group, &optimizer));
    result.last_loss = sums[0] / static_cast<double>(train_nodes.size());
  }
  ASSIGN_OR_RETURN(const auto sums, Epoch(*graph, *test, 0, *model, *group, nullptr));  // with full neighborhoods
  result.test_accuracy = sums[1] / static_cast<double>(test_nodes.size());
  return result;
}

}  // namespace example
