#include "services/shard/original_edge_ids.h"

#include <string>
#include <utility>

namespace espalier::shard {
namespace {

// A server's thread that waits answers nobody meanwhile.
constexpr std::chrono::seconds kLongestWaitForAnother{1};

}  // namespace

bool OriginalEdgeIds::Fit(EdgeTypeId type, const std::vector<Tensor>& ids) const {
  return type.value < ids.size() &&
         static_cast<uint64_t>(ids[type.value].num_elements()) == book_.NumOwnedEdges(partition_.id, type);
}

Result<std::vector<Tensor>> OriginalEdgeIds::Fetch(Deadline deadline) const {
  ASSIGN_OR_RETURN(std::vector<Tensor> ids, partition_.load_original_edge_ids(deadline));
  for (uint16_t type = 0; type < book_.schema().num_edge_types(); ++type) {
    if (!Fit(EdgeTypeId(type), ids)) {
      return DataLoss("they are not those of partition " + std::to_string(partition_.id.value));
    }
  }
  return ids;
}

Result<Tensor> OriginalEdgeIds::Of(EdgeTypeId type, Deadline deadline) {
  if (Fit(type, partition_.original_edge_ids)) return partition_.original_edge_ids[type.value];
  const std::string name = book_.schema().EdgeType(type).Name();
  if (partition_.load_original_edge_ids == nullptr) {
    return FailedPrecondition(
        "the partition was loaded without the edges' original ids, which the first values of "
        "edge type '" +
        name + "' depend on");
  }
  {
    MutexLock lock(&mutex_);
    if (!mutex_.AwaitBefore(deadline.AtMost(kLongestWaitForAnother), [this] { return !is_fetching_; })) {
      return Unavailable("the edges' original ids are being fetched");
    }
    if (fetched_.has_value()) return (*fetched_)[type.value];
    is_fetching_ = true;
  }
  Result<std::vector<Tensor>> fetched = Fetch(deadline);
  MutexLock lock(&mutex_);
  is_fetching_ = false;
  if (!fetched.ok()) {
    Status error = std::move(fetched).status();
    // NotFound would say that rows of the tensor are lost.
    if (error.code() == StatusCode::kNotFound) error = DataLoss(error.message() + ": it is missing");
    return std::move(error).While("fetching the edges' original ids");
  }
  fetched_ = *std::move(fetched);
  return (*fetched_)[type.value];
}

}  // namespace espalier::shard
