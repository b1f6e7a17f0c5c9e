// The outputs of all nodes of the seed types in mutable tensors of one name on the owners of the rows, while a pass
// over the graph reads them.
#pragma once

#include <span>
#include <string>

#include "services/trainer/evaluation/full_inference.h"

namespace espalier::trainer {

// Every rank calls the same functions in the same order, but Read. Owned by one thread.
class StoredEmbeddings {
 public:
  // Everything outlives this.
  StoredEmbeddings(GraphAccess graph, const NodeData& data, collective::Collective& collective, Timeouts timeouts)
      : graph_(graph), data_(data), collective_(collective), timeouts_(timeouts) {}

  // After inference.ComputeHidden. Nothing where they are there already, until Drop; else `tensor` names them.
  Status Store(Model& model, FullInference& inference, const std::string& tensor);
  // f32 [nodes, D] in the order of `nodes` of one of the seed types, which may repeat. DataLoss where a restarted
  // server has lost them.
  Result<torch::Tensor> Read(NodeTypeId type, std::span<const GlobalNodeId> nodes) const;
  // At a pass's end, when every rank has ended its reads, or has failed.
  Status Drop();

 private:
  GraphAccess graph_;
  const NodeData& data_;
  collective::Collective& collective_;
  const Timeouts timeouts_;
  std::string tensor_;  // empty: none is stored
};

}  // namespace espalier::trainer
