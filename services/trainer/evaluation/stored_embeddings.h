// Stores the model's outputs for all nodes of the seed types in distributed tensors for the duration of a pass over the
// graph: one tensor for each type, all under one name.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>

#include "services/trainer/evaluation/full_inference.h"

namespace espalier::trainer {

// Every rank must call Store, Drop and DropInSteps in the same order; Read is local to a rank. Owned by one thread.
class StoredEmbeddings {
 public:
  // `data`, `collective` and the objects of `graph` outlive this.
  StoredEmbeddings(GraphAccess graph, const NodeData& data, collective::Collective& collective, Timeouts timeouts)
      : graph_(graph), data_(data), collective_(collective), timeouts_(timeouts) {}

  // Computes the outputs and stores them under the name `tensor`. inference.ComputeHidden must have been called. Does
  // nothing if outputs are stored already and were not dropped.
  Status Store(Model& model, FullInference& inference, const std::string& tensor);
  // Returns the outputs of nodes of one seed type, f32 [nodes, D]. Nodes may be repeated. DataLoss if a restarted
  // server has lost the outputs.
  Result<torch::Tensor> Read(NodeTypeId type, std::span<const GlobalNodeId> nodes) const;
  // Returns the number of rows that Store computes: the nodes of all seed types.
  uint64_t CountRows() const;
  // Returns the names of the tensors by node type; empty if no outputs are stored.
  const std::map<NodeTypeId, std::string>& tensors() const { return tensors_; }
  // Drops the outputs. Must be called after every rank has finished its reads or has failed. Rank 0 sends the requests,
  // each with the time limit `patience`; the other ranks return at once. After an error, the outputs of the remaining
  // types are still dropped.
  Status Drop(std::chrono::seconds patience);
  // Like Drop, but the ranks synchronize after each type (collective::WorkInSteps) and return the same status.
  Status DropInSteps(std::chrono::seconds patience);

 private:
  GraphAccess graph_;
  const NodeData& data_;
  collective::Collective& collective_;
  const Timeouts timeouts_;
  std::map<NodeTypeId, std::string> tensors_;
};

}  // namespace espalier::trainer
