// Layer-wise inference over full neighborhoods. Before layer l + 1 begins, layer l is computed for all nodes that later
// layers need. Its activations are stored in distributed tensors, so that each layer is computed once per node,
// whatever the node's degree.
//
// Nodes are processed in original-id order in chunks of fixed size; of T trainers, rank c mod T computes chunk c,
// whichever partition owns the nodes. Results are bitwise the same for any partitioning and any number of trainers:
// although the bits of a matrix product may depend on its number of rows, the chunk alone determines that number. Every
// rank must call the same functions; an error of one rank ends the pass on all ranks.
//
// Stored activations do not survive a restart of their server. All ranks create a tensor before any rank writes to it:
// otherwise, after a restart, a late rank could create it again, with zeros in place of the lost rows. If rows are
// missing, the pass ends on every rank with DataLoss and may be repeated.
#pragma once

#include <chrono>
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
  uint64_t chunk_nodes = 4096;  // nodes per chunk; the last bits of the results depend on it
  Timeouts timeouts;
  // Called before each chunk and between the requests of a chunk. May be empty. An error ends the pass on all ranks.
  std::function<Status()> before_chunk = {};
  PhaseTracker phases = {};  // counts computed nodes

  // Calls before_chunk, if set.
  Status BeforeChunk() const { return before_chunk ? before_chunk() : Status(); }
};

// Called on the rank that computed the chunk, with the outputs f32 [nodes, C] on the CPU.
using OnChunk =
    std::function<Status(uint64_t chunk, std::span<const GlobalNodeId> nodes, const torch::Tensor& outputs)>;

// Owned by one thread.
class FullInference {
 public:
  // `data`, `collective` and the objects of `graph` outlive this. Each layer reads all in-edges of the relations that
  // `spec` has for it.
  static Result<FullInference> Make(GraphAccess graph, const NodeData& data, const sampler::SamplingSpec& spec,
                                    collective::Collective& collective, const InferenceOptions& options);

  // Computes and stores the activations that enter the last layer. Tensor names begin with `prefix`, which no other
  // pass may use at the same time.
  Status ComputeHidden(Model& model, const std::string& prefix);
  // Compute the last layer, after ComputeHidden: for the nodes of a split's part, for all nodes of the seed type, or
  // for all nodes of `type`, which is one of the seed types.
  Status ForSplit(Model& model, const std::string& split, graph::SplitPartName part, const OnChunk& on_chunk);
  Status ForAllNodes(Model& model, const OnChunk& on_chunk) { return ForAllNodes(model, data_->seed_type(), on_chunk); }
  Status ForAllNodes(Model& model, NodeTypeId type, const OnChunk& on_chunk);

  // Returns the number of rows that ComputeHidden computes: for each hidden layer, the number of nodes of the types
  // that the next layer reads, summed over the layers.
  uint64_t CountHiddenRows() const;

  // Returns, by node type, the name of the tensor with the activations that enter the last layer; empty before
  // ComputeHidden, after DropHidden, and for a model with one layer.
  const std::map<NodeTypeId, std::string>& hidden() const { return hidden_; }
  // Drops the stored activations, also those of a failed pass. Every rank must call it, after all ranks have finished
  // their reads.
  Status DropHidden();
  // Like DropHidden, but does not synchronize the ranks, for a pass that has failed on all ranks: rank 0 sends the
  // requests, each with the time limit `patience`, and the other ranks return at once.
  Status DropHiddenUnsynchronized(std::chrono::seconds patience);

 private:
  using Tensors = std::map<NodeTypeId, std::string>;  // names of distributed tensors

  FullInference(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                const InferenceOptions& options);
  // Creates the tensors of a layer on all ranks and computes the layer for all nodes of the types that the next layer
  // reads.
  Status ComputeLayer(Model& model, int layer, const std::string& prefix);
  Status ComputeChunks(Model& model, int layer, const Tensors& written);
  Status ComputeChunk(Model& model, int layer, NodeTypeId type, uint64_t chunk, const std::string& tensor);
  // Returns the layer's outputs for nodes of a type, f32 [nodes, C] on the CPU.
  Result<torch::Tensor> ComputeOutputs(Model& model, int layer, NodeTypeId type, std::span<const GlobalNodeId> nodes,
                                       Deadline deadline);
  // Returns the rows that the layer reads: the model's inputs, or stored activations.
  Result<torch::Tensor> ReadInputs(int layer, NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline);
  Result<std::vector<GlobalNodeId>> ListChunkNodes(NodeTypeId type, uint64_t chunk, Deadline deadline);
  Status Agree(const Status& own) { return collective::AgreeOn(own, *collective_, options_.timeouts.collective); }
  // Counts the nodes of a chunk as done, whichever rank computes it. `num_nodes` is the number of nodes in all chunks.
  void CountChunk(uint64_t chunk, uint64_t num_nodes) const;
  bool IsMine(uint64_t chunk) const { return chunk % collective_->size() == collective_->rank().value; }
  uint64_t NumChunks(uint64_t num_nodes) const { return (num_nodes + options_.chunk_nodes - 1) / options_.chunk_nodes; }

  GraphAccess graph_;
  const NodeData* data_;
  collective::Collective* collective_;
  InferenceOptions options_;
  std::vector<std::vector<NodeTypeId>> types_;    // types_[l]: node types that layer l reads
  std::vector<sampler::FanoutSampler> samplers_;  // by layer: one hop, all in-edges
  Tensors hidden_;
  Tensors unfinished_;  // of a layer that is being computed or has failed
};

}  // namespace espalier::trainer
