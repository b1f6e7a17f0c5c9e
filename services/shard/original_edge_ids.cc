#include "services/shard/original_edge_ids.h"

#include <string>
#include <system_error>
#include <utility>

namespace espalier::shard {

bool OriginalEdgeIds::HasIds(EdgeTypeId type, const std::vector<Tensor>& ids) const {
  return type.value < ids.size() &&
         static_cast<uint64_t>(ids[type.value].num_elements()) == book_.NumOwnedEdges(partition_.id, type);
}

Result<std::vector<Tensor>> OriginalEdgeIds::Fetch(const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(std::vector<Tensor> ids, partition_.load_original_edge_ids(stop));
  for (uint16_t type = 0; type < book_.schema().num_edge_types(); ++type) {
    if (!HasIds(EdgeTypeId(type), ids)) {
      return DataLoss("the fetched ids are not those of partition " + std::to_string(partition_.id.value));
    }
  }
  return ids;
}

void OriginalEdgeIds::StoreResult(Result<std::vector<Tensor>> ids) {
  MutexLock lock(&mutex_);
  is_fetching_ = false;
  if (ids.ok()) {
    fetched_ = *std::move(ids);
    return;
  }
  Status error = std::move(ids).status();
  // Callers interpret NotFound as lost rows of the tensor, so another code is returned.
  if (error.code() == StatusCode::kNotFound) error = DataLoss(error.message() + ": it is missing");
  error_ = std::move(error).While("fetching the edges' original ids");
}

Result<Tensor> OriginalEdgeIds::Get(EdgeTypeId type) {
  if (HasIds(type, partition_.original_edge_ids)) return partition_.original_edge_ids[type.value];
  const std::string name = book_.schema().EdgeType(type).Name();
  if (partition_.load_original_edge_ids == nullptr) {
    return FailedPrecondition(
        "the partition was loaded without the edges' original ids, on which the initial values of tensors of edge type "
        "'" +
        name + "' depend");
  }
  MutexLock lock(&mutex_);
  if (fetched_.has_value()) return (*fetched_)[type.value];
  if (!error_.ok()) return std::exchange(error_, Status());
  if (!is_fetching_) {
    try {
      // Assigning joins the previous thread, if any, which no longer needs the lock.
      fetching_ = std::jthread([this](const std::stop_token& stop) { StoreResult(Fetch(stop)); });
    } catch (const std::system_error& error) {
      return ResourceExhausted(std::string("cannot start a thread that fetches the edges' original ids: ") +
                               error.what());
    }
    is_fetching_ = true;
  }
  return Unavailable("the edges' original ids are being fetched");
}

}  // namespace espalier::shard
