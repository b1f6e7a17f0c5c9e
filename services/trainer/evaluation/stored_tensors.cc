#include "services/trainer/evaluation/stored_tensors.h"

#include "services/collective/agreement.h"

namespace espalier::trainer {

Status NotFoundToDataLoss(Status status) {
  if (status.code() != StatusCode::kNotFound) return status;
  return DataLoss("a graph server has lost stored tensors: " + status.message());
}

Status CreateOnAllRanks(const GraphAccess& graph, std::span<const NodeTypeId> types, const std::string& name,
                        int64_t width, collective::Collective& collective, const Timeouts& timeouts) {
  const auto create = [&]() -> Status {
    for (const NodeTypeId type : types) {
      RETURN_IF_ERROR(
          NotFoundToDataLoss(graph.tensors.CreateTensor(type, name, DType::kF32, {width}, timeouts.ForData())));
    }
    return Status();
  };
  const bool is_root = collective.rank() == Rank(0);
  RETURN_IF_ERROR(collective::AgreeOn(is_root ? create() : Status(), collective, timeouts.collective));
  return collective::AgreeOn(is_root ? Status() : create(), collective, timeouts.collective);
}

Status DropTensors(const GraphAccess& graph, const std::map<NodeTypeId, std::string>& tensors,
                   const collective::Collective& collective, std::chrono::seconds patience) {
  if (collective.rank() != Rank(0)) return Status();
  Status first_error;
  for (const auto& [type, name] : tensors) {
    const Status dropped = graph.tensors.DropTensor(type, name, Deadline::After(patience));
    if (first_error.ok()) first_error = dropped;
  }
  return first_error;
}

}  // namespace espalier::trainer
