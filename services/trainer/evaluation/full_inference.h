// Layer-wise inference over full neighbourhoods. Layer l is computed for all nodes that later layers need before
// layer l + 1 begins, and its activations are kept in tensors on the owners of the rows, so each node is computed
// once, whatever its degree.
//
// Nodes are walked in original-id order in chunks of fixed size, chunk c by rank c mod T, whoever owns them: a row's
// GEMM result depends on the size of its batch, so this is what makes results the same bits for any partitioning
// and any number of trainers. Every rank calls the same functions; an error of one ends the pass of all.
//
// Stored activations do not survive a restart of the server that holds them. Tensors are written only when every
// rank has created them, so what a restart has taken is missing and never mistaken for zeros: the pass then ends on
// every rank with DataLoss, and may be done again.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/collective/agreement.h"
#include "services/sampler/batches/fanout_sampler.h"
#include "services/trainer/data/graph_access.h"
#include "services/trainer/data/node_data.h"
#include "services/trainer/evaluation/run_phase.h"
#include "services/trainer/model/model.h"

namespace espalier::trainer {

struct InferenceOptions {
  uint64_t chunk_nodes = 4096;
  Timeouts timeouts;
  // Before each chunk, and between its parts. May be empty; an error ends the pass of all ranks.
  std::function<Status()> before_chunk = {};
  PhaseTracker* phases = nullptr;  // counts the nodes of each chunk; outlives the pass; may be null

  Status BeforeChunk() const { return before_chunk ? before_chunk() : Status(); }
};

// Called on the rank that computed the chunk: outputs f32 [nodes, C].
using OnChunk =
    std::function<Status(uint64_t chunk, std::span<const GlobalNodeId> nodes, const torch::Tensor& outputs)>;

// Owned by one thread.
class FullInference {
 public:
  // Everything outlives this. `spec` says which relations each layer reads.
  static Result<FullInference> Make(GraphAccess graph, const NodeData& data, const sampler::SamplingSpec& spec,
                                    collective::Collective& collective, const InferenceOptions& options);

  // Computes the activations that enter the last layer. The tensors' names begin with `prefix`, which no other pass
  // may use at the same time.
  Status ComputeHidden(Model& model, const std::string& prefix);
  // The last layer, after ComputeHidden: for the nodes of a split's part, or for all nodes of the seed type, or of one
  // of the seed types.
  Status ForSplit(Model& model, const std::string& split, graph::SplitPartName part, const OnChunk& on_chunk);
  Status ForAllNodes(Model& model, const OnChunk& on_chunk) { return ForAllNodes(model, data_->seed_type(), on_chunk); }
  Status ForAllNodes(Model& model, NodeTypeId type, const OnChunk& on_chunk);

  // Returns the number of rows that ComputeHidden computes: nodes, summed over layers.
  uint64_t CountHiddenRows() const;

  // Node type -> name of the tensor with the activations that enter the last layer; none for a model of one layer.
  const std::map<NodeTypeId, std::string>& hidden() const { return hidden_; }
  // Drops the stored activations, also those of a pass that failed. Every rank calls it and has ended its reads.
  Status DropHidden();

 private:
  using Tensors = std::map<NodeTypeId, std::string>;

  FullInference(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                const InferenceOptions& options);
  Status ComputeLayer(Model& model, int layer, const std::string& prefix);
  Status ComputeChunks(Model& model, int layer, const Tensors& written);
  Status ComputeChunk(Model& model, int layer, NodeTypeId type, uint64_t chunk, const std::string& tensor);
  Result<torch::Tensor> Outputs(Model& model, int layer, NodeTypeId type, std::span<const GlobalNodeId> nodes,
                                Deadline deadline);
  Result<torch::Tensor> RowsRead(int layer, NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline);
  Result<std::vector<GlobalNodeId>> NodesOfChunk(NodeTypeId type, uint64_t chunk, Deadline deadline);
  Status Drop(const Tensors& tensors);
  Status Agree(const Status& own) { return collective::AgreeOn(own, *collective_, options_.timeouts.collective); }
  // Counts a chunk of `num_nodes` nodes as done, whichever rank computes it.
  void CountChunk(uint64_t chunk, uint64_t num_nodes) const;
  bool IsMine(uint64_t chunk) const { return chunk % collective_->size() == collective_->rank().value; }
  uint64_t NumChunks(uint64_t num_nodes) const { return (num_nodes + options_.chunk_nodes - 1) / options_.chunk_nodes; }

  GraphAccess graph_;
  const NodeData* data_;
  collective::Collective* collective_;
  InferenceOptions options_;
  std::vector<std::vector<NodeTypeId>> types_;    // types_[l]: what layer l reads
  std::vector<sampler::FanoutSampler> samplers_;  // by layer: one hop, all in-edges
  Tensors hidden_;
  Tensors unfinished_;  // of a layer whose computation has not ended well
};

}  // namespace espalier::trainer
