// Stores the outputs of all nodes of the seed types in mutable tensors on the owners of the rows, under one name, for
// the duration of a pass over the graph.
#pragma once

#include <span>
#include <string>

#include "services/trainer/evaluation/full_inference.h"

namespace espalier::trainer {

// Every rank must call Store and Drop in the same order; Read is local to a rank. Owned by one thread.
class StoredEmbeddings {
 public:
  // All arguments outlive this.
  StoredEmbeddings(GraphAccess graph, const NodeData& data, collective::Collective& collective, Timeouts timeouts)
      : graph_(graph), data_(data), collective_(collective), timeouts_(timeouts) {}

  // Computes the outputs and stores them under the name `tensor`, after inference.ComputeHidden. Does nothing if
  // outputs are stored already and were not dropped.
  Status Store(Model& model, FullInference& inference, const std::string& tensor);
  // Returns the outputs of nodes of one seed type, f32 [nodes, D]. Nodes may be repeated. DataLoss if a restarted
  // server has lost them.
  Result<torch::Tensor> Read(NodeTypeId type, std::span<const GlobalNodeId> nodes) const;
  // Drops the outputs at the end of a pass, after every rank has finished its reads or has failed. Rank 0 sends the
  // requests.
  Status Drop();

 private:
  GraphAccess graph_;
  const NodeData& data_;
  collective::Collective& collective_;
  const Timeouts timeouts_;
  std::string tensor_;  // empty: none is stored
};

}  // namespace espalier::trainer
