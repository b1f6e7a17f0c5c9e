#include "training_loop.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "espalier/client/init_process_group.h"
#include "espalier/client/node_data_loader.h"
#include "espalier/telemetry/process.h"

namespace example {

// [example]
using namespace espalier;
using namespace espalier::client;

constexpr NodeTypeId kNode(0);  // a graph of one node type and one relation
using Loader = NodeDataLoader<Batch>;

// Makes a loader of batches over a part of the split; the batch size is over all ranks. If the job has samplers, they
// sample the training batches.
Result<std::unique_ptr<Loader>> MakeLoader(const DistGraph& graph, graph::SplitPartName part) {
  NodeLoaderOptions options{.seed_type = kNode, .batch_size = 256};
  options.sampling.layers = {{{10}}};
  options.sampling.seed = 1;
  const bool have_samplers = part == graph::SplitPartName::kTrain && !graph.context().samplers.empty();
  options.sampled_by = have_samplers ? SampledBy::kSamplers : SampledBy::kThisProcess;
  const NodesOfSplit nodes{"random", part};
  const auto collate = [&graph](sampler::MiniBatch blocks, const Deadline& deadline) -> Result<Batch> {
    const std::vector<GlobalNodeId>& read = blocks.nodes[kNode.value];  // the seeds come first
    const std::vector<GlobalNodeId> seeds(read.begin(), read.begin() + blocks.num_seeds);
    ASSIGN_OR_RETURN(Tensor features, graph.GatherNodeRows(kNode, "node-feat", read, deadline));
    ASSIGN_OR_RETURN(Tensor labels, graph.GatherNodeRows(kNode, "node-label", seeds, deadline));
    return Batch{std::move(blocks), std::move(features), std::move(labels)};
  };
  return Loader::Make(graph, nodes, options, collate);
}

// Runs one epoch; a `learning_rate` of 0 only evaluates. Returns the sum of losses and the number of correct seeds,
// over all ranks.
Result<Sums> Epoch(const DistGraph& graph, Loader& loader, uint32_t epoch, double learning_rate,
                   SoftmaxRegression& model, collective::Collective& group) {
  Sums all{std::vector<double>(2)};
  RETURN_IF_ERROR(loader.StartEpoch(epoch));
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<Batch> batch, loader.Next());
    if (!batch) return all;  // all ranks have the same number of batches
    Sums sums = model.ComputeSums(*batch);
    RETURN_IF_ERROR(group.AllReduceSum(std::span<double>(sums.values), graph.CallDeadline()));  // one deadline per step
    model.Step(sums, batch->blocks.global_num_seeds, learning_rate);
    all.values[0] += sums.loss();
    all.values[1] += sums.num_correct();
  }
}

// Restores the weights and returns the number of completed epochs. Rank 0 reads both from the file and broadcasts them.
Result<uint32_t> Restore(const LoopOptions& options, SoftmaxRegression& model, collective::Collective& group,
                         Deadline deadline) {
  std::vector<double> state(1 + model.weights().size());
  std::ifstream file(options.state_path, std::ios::binary);
  if (group.rank() == Rank(0) && options.resume && file) {
    const auto size_bytes = static_cast<std::streamsize>(state.size() * sizeof(double));
    if (!file.read(reinterpret_cast<char*>(state.data()), size_bytes))
      return DataLoss(options.state_path + " is too short");
  }
  RETURN_IF_ERROR(group.Broadcast(std::as_writable_bytes(std::span(state)), Rank(0), deadline));
  model.weights().assign(state.begin() + 1, state.end());
  return static_cast<uint32_t>(state[0]);
}

Status Save(const LoopOptions& options, uint32_t epochs_done, SoftmaxRegression& model) {
  std::vector<double> state = {static_cast<double>(epochs_done)};
  state.insert(state.end(), model.weights().begin(), model.weights().end());
  const std::string bytes(reinterpret_cast<const char*>(state.data()), state.size() * sizeof(double));
  return telemetry::WriteFileAtomically(options.state_path, bytes);
}

Result<LoopResult> TrainOnAllRanks(const Context& context, const LoopOptions& options) {
  ASSIGN_OR_RETURN(const auto graph, DistGraph::Open(context));
  ASSIGN_OR_RETURN(const auto group, InitProcessGroup(*graph, context, graph->CallDeadline()));  // init_process_group
  ASSIGN_OR_RETURN(const auto train, MakeLoader(*graph, graph::SplitPartName::kTrain));
  ASSIGN_OR_RETURN(const auto test, MakeLoader(*graph, graph::SplitPartName::kTest));
  ASSIGN_OR_RETURN(const auto train_nodes, graph->SplitNodes(kNode, "random", graph::SplitPartName::kTrain));
  ASSIGN_OR_RETURN(const auto test_nodes, graph->SplitNodes(kNode, "random", graph::SplitPartName::kTest));
  ASSIGN_OR_RETURN(const Tensor first, graph->GatherNodeRows(kNode, "node-feat", std::array{GlobalNodeId(0)}));
  constexpr int64_t kClasses = 10;
  SoftmaxRegression model(first.num_elements(), kClasses);

  LoopResult result;
  ASSIGN_OR_RETURN(uint32_t epoch, Restore(options, model, *group, graph->CallDeadline()));
  for (; epoch < options.epochs; ++epoch) {
    ASSIGN_OR_RETURN(const Sums sums, Epoch(*graph, *train, epoch, 0.1, model, *group));
    result.last_loss = sums.loss() / static_cast<double>(train_nodes.size());
    if (context.rank == Rank(0) && !options.state_path.empty()) RETURN_IF_ERROR(Save(options, epoch + 1, model));
  }
  ASSIGN_OR_RETURN(const Sums evaluated, Epoch(*graph, *test, 0, 0, model, *group));
  result.test_accuracy = evaluated.num_correct() / static_cast<double>(test_nodes.size());
  result.weights = model.weights();
  return result;
}
// [example]

}  // namespace example
