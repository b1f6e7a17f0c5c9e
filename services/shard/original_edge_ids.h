// Original ids of a partition's edges. Only first values of tensors ask for them, so that partitions come without them:
// they are fetched when they are first needed (graph::Partition::load_original_edge_ids), and stay.
#pragma once

#include <optional>
#include <vector>

#include "services/base/mutex.h"
#include "services/graph/partition.h"
#include "services/graph/partition_book.h"

namespace espalier::shard {

// Thread-safe.
class OriginalEdgeIds {
 public:
  // Both outlive this.
  OriginalEdgeIds(const graph::PartitionBook& book, const graph::Partition& partition)
      : book_(book), partition_(partition) {}

  // U32 or U64 [owned edges of the type, which exists]. FailedPrecondition: the partition came without them, and with
  // no way to get them; Unavailable: another thread has been fetching them for a second and is not done, ask again;
  // DataLoss: they are missing, or not those of the partition; and the errors of fetching, which the next call tries
  // again.
  Result<Tensor> Of(EdgeTypeId type, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool Fit(EdgeTypeId type, const std::vector<Tensor>& ids) const;
  Result<std::vector<Tensor>> Fetch(Deadline deadline) const;

  const graph::PartitionBook& book_;
  const graph::Partition& partition_;
  Mutex mutex_;
  bool is_fetching_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::vector<Tensor>> fetched_ ABSL_GUARDED_BY(mutex_);  // by EdgeTypeId
};

}  // namespace espalier::shard
