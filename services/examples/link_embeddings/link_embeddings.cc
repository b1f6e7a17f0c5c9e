// The loss is logistic: embeddings of linked nodes get a large dot product, those of random pairs a small one. Each
// rank computes its share of a step; the owners of the rows sum the gradients of all ranks in emb.Step. Rank 0 saves
// the embedding and the counters after each epoch, while a barrier keeps the other ranks from changing them.
#include "link_embeddings.h"

#include <torch/torch.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "espalier/client/edge_data_loader.h"
#include "espalier/client/saved_embeddings.h"
#include "espalier/trainer/adapters/dist_embedding.h"

namespace example {

// [example]
using namespace espalier;
using namespace espalier::client;
using adapters::DistEmbedding;

constexpr NodeTypeId kNode(0);  // a graph of one node type and one relation
constexpr EdgeTypeId kLink(0);

adapters::DistEmbeddingOptions MakeRowOptions() {
  return {.rows = RowSpace::Nodes(kNode),
          .size = 16,
          .name = "node",
          .initializer = sampler::Initializer::Uniform(-0.5, 0.5, 1)};
}

// A counter per node: the number of sampled links that it was an endpoint of.
DistTensorOptions MakeCounterOptions() {
  return {.rows = RowSpace::Nodes(kNode), .dtype = DType::kI64, .name = "ends", .lifetime = Lifetime::kPersistent};
}

torch::Tensor ToIndices(const std::vector<uint32_t>& rows) {
  const std::vector<int64_t> indices(rows.begin(), rows.end());
  return torch::tensor(indices, torch::kInt64);
}

Result<std::unique_ptr<DistEdgeDataLoader>> MakeLoader(const DistGraph& graph, const std::string& split) {
  EdgeLoaderOptions options;
  options.batch_size = 64;  // links, over all ranks
  options.negatives = {sampler::NegativeKind::kUniform, 1};
  options.reverse_types = {{kLink, kLink}};
  options.sampling.layers = {{{0}}};  // no neighbors
  const EdgesOfSplit links{{kLink}, split};
  const auto as_drawn = [](sampler::MiniBatch batch, const Deadline&) -> Result<sampler::MiniBatch> { return batch; };
  return DistEdgeDataLoader::Make(graph, links, options, as_drawn);
}

// Returns the sum of the losses of this rank's links (0 if it has none). A small loss means that rows of linked nodes
// point in the same direction.
torch::Tensor ComputeLoss(const sampler::LinkSeeds& links, const torch::Tensor& rows) {
  const torch::Tensor sources = rows.index_select(0, ToIndices(links.sources));
  const torch::Tensor destinations = rows.index_select(0, ToIndices(links.destinations));
  const torch::Tensor negatives = rows.index_select(0, ToIndices(links.negative_destinations));
  const std::vector<uint8_t>& weights = links.negative_weights;  // 0: the negative is an edge of the global batch
  const torch::Tensor negative_weights = torch::tensor(std::vector<float>(weights.begin(), weights.end()));
  return torch::softplus(-(sources * destinations).sum(1)).sum() +
         (torch::softplus((sources * negatives).sum(1)) * negative_weights).sum();
}

// Adds 1 to the counter of each endpoint in the batch. All ranks add to the same counters.
Status CountEnds(const sampler::MiniBatch& batch, DistTensor& counts) {
  std::vector<GlobalRowId> ends;
  for (const std::vector<uint32_t>* side : {&batch.links->sources, &batch.links->destinations}) {
    for (const uint32_t row : *side) ends.emplace_back(batch.nodes[kNode.value][row].value);
  }
  const Tensor ones = Tensor::FromVector(std::vector<int64_t>(ends.size(), 1));
  return NotFoundToUnavailable(counts.AddRows(ends, ones));  // if the rows were lost, the program exits with 74
}

// Trains for one epoch and returns its mean loss.
Result<double> Epoch(const DistGraph& graph, collective::Collective& group, DistEdgeDataLoader& loader, uint32_t epoch,
                     DistEmbedding& emb, DistTensor& counts) {
  RETURN_IF_ERROR(loader.StartEpoch(epoch));
  double sums[] = {0, 0};  // sum of losses, number of links
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<sampler::MiniBatch> batch, loader.Next());
    if (!batch) return sums[0] / sums[1];  // all ranks have the same number of batches
    ASSIGN_OR_RETURN(const torch::Tensor rows, emb(batch->nodes[kNode.value]));
    const torch::Tensor loss = ComputeLoss(*batch->links, rows);
    (loss / static_cast<double>(batch->global_num_seeds)).backward();  // an empty share has no gradient
    RETURN_IF_ERROR(emb.Step(/*learning_rate=*/0.1));                  // Adagrad, on the owners of the rows
    RETURN_IF_ERROR(CountEnds(*batch, counts));
    double step_sums[] = {loss.item<double>(), static_cast<double>(batch->links->sources.size())};
    RETURN_IF_ERROR(group.AllReduceSum(std::span<double>(step_sums), graph.CallDeadline()));  // waits for all ranks
    for (int i : {0, 1}) sums[i] += step_sums[i];
  }
}

// Returns the location of the newest saved state, or an empty string. A run that does not resume removes all saved
// states.
Result<std::string> FindNewestSaved(const LinkOptions& options) {
  if (options.folder.empty()) return std::string();
  ASSIGN_OR_RETURN(const std::vector<std::string> saved, ListSavedTensors(options.folder, options.stores));
  if (options.resume) return saved.empty() ? std::string() : options.folder + "/" + saved.back();
  for (const std::string& name : saved) {
    RETURN_IF_ERROR(RemoveSavedTensors(options.folder + "/" + name, options.stores));
  }
  return std::string();
}

// The saved state of an earlier run.
struct SavedState {
  std::unique_ptr<SavedEmbedding> rows;  // null: rows get their initial values
  std::vector<double> losses;            // of the completed epochs
};

// Called by rank 0. Also creates the counters from the saved state.
Result<SavedState> Restore(const DistGraph& graph, const LinkOptions& options) {
  const adapters::DistEmbeddingOptions rows = MakeRowOptions();
  const DistTensorOptions counts = MakeCounterOptions();
  RETURN_IF_ERROR(DistTensor::Drop(graph, counts.rows, counts.name));  // left by an earlier run on these servers
  SavedState restored;
  ASSIGN_OR_RETURN(const std::string saved, FindNewestSaved(options));
  if (saved.empty()) return restored;
  ASSIGN_OR_RETURN(restored.rows, SavedEmbedding::Open(graph, saved, {rows.rows, rows.name}, options.stores));
  ASSIGN_OR_RETURN(const LoadedTensors loaded, LoadTensors(graph, saved, {.stores = options.stores}));
  restored.losses = nlohmann::json::parse(loaded.notes.at("losses")).get<std::vector<double>>();
  return restored;
}

// Called by rank 0 while no rank changes the counters.
Status Save(const DistGraph& graph, const LinkOptions& options, const DistEmbedding& emb,
            const std::vector<double>& losses) {
  const DistTensorOptions counts = MakeCounterOptions();
  const std::string name = "epochs-" + std::to_string(1000 + losses.size());  // names sort by epoch
  const SaveOptions saving{
      .notes = {{"losses", nlohmann::json(losses).dump()}}, .embeddings = {emb.Now()}, .stores = options.stores};
  return NotFoundToUnavailable(SaveTensors(graph, {{counts.rows, counts.name}}, options.folder + "/" + name, saving));
}

// Broadcasts the numbers of rank 0.
Status Share(std::vector<double>& numbers, collective::Collective& group, Deadline deadline) {
  uint64_t count = numbers.size();
  RETURN_IF_ERROR(group.Broadcast(std::as_writable_bytes(std::span(&count, 1)), Rank(0), deadline));
  numbers.resize(count);
  if (count == 0) return Status();
  return group.Broadcast(std::as_writable_bytes(std::span(numbers)), Rank(0), deadline);
}

// Returns the learned rows in the order of original ids, which does not depend on the partitioning.
Result<torch::Tensor> GatherRowsInOrder(const DistGraph& graph, DistEmbedding& emb) {
  std::vector<OriginalNodeId> originals;
  for (uint64_t id = 0; id < graph.num_nodes(kNode); ++id) originals.emplace_back(id);
  ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> nodes, graph.ToGlobalIds(kNode, originals));
  const torch::NoGradGuard no_grad;
  return emb(nodes);
}

Result<LinkResult> LearnLinks(const DistGraph& graph, collective::Collective& group, const LinkOptions& options) {
  ASSIGN_OR_RETURN(const auto loader, MakeLoader(graph, options.split));
  const bool is_first = group.rank() == Rank(0);
  SavedState restored;
  if (is_first) {
    ASSIGN_OR_RETURN(restored, Restore(graph, options));
  }
  LinkResult result;
  result.losses = std::move(restored.losses);
  RETURN_IF_ERROR(Share(result.losses, group, graph.CallDeadline()));
  ASSIGN_OR_RETURN(const auto emb,
                   DistEmbedding::Create(graph.embeddings(), group, MakeRowOptions(), restored.rows.get()));
  ASSIGN_OR_RETURN(DistTensor counts,
                   NotFoundToUnavailable(DistTensor::Create(graph, MakeCounterOptions())));  // or opens it

  while (result.losses.size() < options.epochs) {
    const auto epoch = static_cast<uint32_t>(result.losses.size());
    ASSIGN_OR_RETURN(const double loss, Epoch(graph, group, *loader, epoch, *emb, counts));
    result.losses.push_back(loss);
    if (is_first && !options.folder.empty()) RETURN_IF_ERROR(Save(graph, options, *emb, result.losses));
    RETURN_IF_ERROR(group.Barrier(graph.CallDeadline()));  // until rank 0 has saved the state
  }

  ASSIGN_OR_RETURN(const torch::Tensor rows, GatherRowsInOrder(graph, *emb));
  result.rows.assign(rows.data_ptr<float>(), rows.data_ptr<float>() + rows.numel());
  ASSIGN_OR_RETURN(const Tensor total, NotFoundToUnavailable(counts.Sum()));
  result.ends_counted = total.ValueAsInt(0);
  RETURN_IF_ERROR(emb->Drop());  // frees the rows after all ranks have read them
  if (is_first) RETURN_IF_ERROR(DistTensor::Drop(graph, counts.rows(), counts.name()));
  return result;
}
// [example]

}  // namespace example
