#include "services/trainer/stored_embeddings.h"

#include <utility>

#include "services/trainer/parameters.h"

namespace espalier::trainer {

Status StoredEmbeddings::Store(Model& model, FullInference& inference, const std::string& tensor) {
  if (!tensor_.empty()) return Status();
  const NodeTypeId type = data_.seed_type();
  tensor_ = tensor;
  const Status created = LostWhereMissing(
      graph_.tensors.CreateTensor(type, tensor, DType::kF32, {data_.num_outputs()}, timeouts_.ForData()));
  RETURN_IF_ERROR(collective::AgreeOn(created, collective_, timeouts_.ForCollective()));
  return inference.ForAllNodes(model, [&](uint64_t, auto nodes, const torch::Tensor& outputs) {
    return LostWhereMissing(graph_.tensors.WriteRows(type, tensor, nodes, FromTorch(outputs), timeouts_.ForData()));
  });
}

Result<torch::Tensor> StoredEmbeddings::Read(std::span<const GlobalNodeId> nodes) const {
  Result<torch::Tensor> rows = data_.Column(data_.seed_type(), tensor_, nodes, timeouts_.ForData());
  if (!rows.ok()) return LostWhereMissing(std::move(rows).status());
  return rows;
}

Status StoredEmbeddings::Drop() {
  const std::string stored = std::exchange(tensor_, {});
  if (stored.empty() || collective_.rank() != Rank(0)) return Status();
  return graph_.tensors.DropTensor(data_.seed_type(), stored, timeouts_.ForData());
}

}  // namespace espalier::trainer
