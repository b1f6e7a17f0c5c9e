// Original ids of a partition's edges. Only first values of tensors ask for them, so that partitions come without them:
// they are fetched when they are first needed (graph::Partition::load_original_edge_ids), and stay. That may be a
// download, which no thread that answers questions waits for: who asks meanwhile is told to ask again.
#pragma once

#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "services/base/mutex.h"
#include "services/graph/partition.h"
#include "services/graph/partition_book.h"

namespace espalier::shard {

// Thread-safe. Its end waits for a fetch that is under way, which is asked to stop.
class OriginalEdgeIds {
 public:
  // Both outlive this.
  OriginalEdgeIds(const graph::PartitionBook& book, const graph::Partition& partition)
      : book_(book), partition_(partition) {}

  // U32 or U64 [owned edges of the type, which exists]. Waits for nothing. Unavailable: they are on their way, from
  // this call on if they were not before, ask again; FailedPrecondition: the partition came without them, and with no
  // way to get them; DataLoss: they are missing, or not those of the partition. An error of fetching is told to the
  // next who asks, and whoever asks after that begins anew. ResourceExhausted: there is no thread to fetch them.
  Result<Tensor> Of(EdgeTypeId type) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool Fit(EdgeTypeId type, const std::vector<Tensor>& ids) const;
  Result<std::vector<Tensor>> Fetch(const std::stop_token& stop) const;
  void Take(Result<std::vector<Tensor>> ids) ABSL_LOCKS_EXCLUDED(mutex_);

  const graph::PartitionBook& book_;
  const graph::Partition& partition_;
  Mutex mutex_;
  bool is_fetching_ ABSL_GUARDED_BY(mutex_) = false;
  Status error_ ABSL_GUARDED_BY(mutex_);                                // of fetching, until somebody is told
  std::optional<std::vector<Tensor>> fetched_ ABSL_GUARDED_BY(mutex_);  // by EdgeTypeId
  std::jthread fetching_ ABSL_GUARDED_BY(mutex_);                       // last: joins before the rest goes away
};

}  // namespace espalier::shard
