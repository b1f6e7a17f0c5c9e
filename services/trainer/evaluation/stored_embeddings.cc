#include "services/trainer/evaluation/stored_embeddings.h"

#include <utility>

#include "services/trainer/evaluation/stored_tensors.h"
#include "services/trainer/model/parameters.h"

namespace espalier::trainer {

Status StoredEmbeddings::Store(Model& model, FullInference& inference, const std::string& tensor) {
  if (!tensor_.empty()) return Status();
  tensor_ = tensor;
  for (const NodeTypeId type : data_.seed_types()) {
    RETURN_IF_ERROR(CreateOnAllRanks(graph_, std::span(&type, 1), tensor, data_.num_outputs(), collective_, timeouts_));
    RETURN_IF_ERROR(inference.ForAllNodes(model, type, [&](uint64_t, auto nodes, const torch::Tensor& outputs) {
      return LostWhereMissing(graph_.tensors.WriteRows(type, tensor, nodes, FromTorch(outputs), timeouts_.ForData()));
    }));
  }
  return Status();
}

Result<torch::Tensor> StoredEmbeddings::Read(NodeTypeId type, std::span<const GlobalNodeId> nodes) const {
  Result<torch::Tensor> rows = data_.Column(type, tensor_, nodes, timeouts_.ForData());
  if (!rows.ok()) return LostWhereMissing(std::move(rows).status());
  return rows;
}

Status StoredEmbeddings::Drop() {
  const std::string stored = std::exchange(tensor_, {});
  if (stored.empty() || collective_.rank() != Rank(0)) return Status();
  Status first_error;
  for (const NodeTypeId type : data_.seed_types()) {
    const Status dropped = graph_.tensors.DropTensor(type, stored, timeouts_.ForData());
    if (first_error.ok()) first_error = dropped;
  }
  return first_error;
}

}  // namespace espalier::trainer
