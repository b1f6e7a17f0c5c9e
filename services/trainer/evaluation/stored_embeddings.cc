#include "services/trainer/evaluation/stored_embeddings.h"

#include <utility>

#include "services/collective/agreement.h"
#include "services/trainer/evaluation/stored_tensors.h"
#include "services/trainer/model/parameters.h"

namespace espalier::trainer {

Status StoredEmbeddings::Store(Model& model, FullInference& inference, const std::string& tensor) {
  if (!tensors_.empty()) return Status();
  for (const NodeTypeId type : data_.seed_types()) tensors_[type] = tensor;
  for (const NodeTypeId type : data_.seed_types()) {
    RETURN_IF_ERROR(CreateOnAllRanks(graph_, std::span(&type, 1), tensor, data_.num_outputs(), collective_, timeouts_));
    RETURN_IF_ERROR(inference.ForAllNodes(model, type, [&](uint64_t, auto nodes, const torch::Tensor& outputs) {
      return NotFoundToDataLoss(graph_.tensors.WriteRows(type, tensor, nodes, FromTorch(outputs), timeouts_.ForData()));
    }));
  }
  return Status();
}

Result<torch::Tensor> StoredEmbeddings::Read(NodeTypeId type, std::span<const GlobalNodeId> nodes) const {
  Result<torch::Tensor> rows = data_.Column(type, tensors_.at(type), nodes, timeouts_.ForData());
  if (!rows.ok()) return NotFoundToDataLoss(std::move(rows).status());
  return rows;
}

uint64_t StoredEmbeddings::CountRows() const {
  uint64_t rows = 0;
  for (const NodeTypeId type : data_.seed_types()) rows += graph_.neighbors.book().num_nodes(type);
  return rows;
}

Status StoredEmbeddings::Drop(std::chrono::seconds patience) {
  return DropTensors(graph_, std::exchange(tensors_, {}), collective_, patience);
}

Status StoredEmbeddings::DropInSteps(std::chrono::seconds patience) {
  if (tensors_.empty()) return Status();
  Status first_error;
  const auto drop_next = [&]() -> Result<bool> {
    const auto next = tensors_.extract(tensors_.begin());
    const Status dropped = graph_.tensors.DropTensor(next.key(), next.mapped(), Deadline::After(patience));
    if (first_error.ok()) first_error = dropped;
    if (!tensors_.empty()) return true;
    RETURN_IF_ERROR(first_error);
    return false;
  };
  const Status dropped = collective::WorkInSteps(Rank(0), drop_next, collective_, timeouts_.collective);
  tensors_.clear();  // drop_next has removed names on rank 0 only
  return dropped;
}

}  // namespace espalier::trainer
