// Original ids of a partition's edges. A GraphShard needs them only for initial values of tensors, so its partition is
// loaded without them; they are fetched on first use (graph::Partition::load_original_edge_ids) and kept. Because the
// fetch may be a download, no thread that answers requests waits for it: callers get Unavailable and retry.
#pragma once

#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "services/base/mutex.h"
#include "services/graph/partition.h"
#include "services/graph/partition_book.h"

namespace espalier::shard {

// Thread-safe. The destructor requests a running fetch to stop and waits for it.
class OriginalEdgeIds {
 public:
  // Both arguments outlive this.
  OriginalEdgeIds(const graph::PartitionBook& book, const graph::Partition& partition)
      : book_(book), partition_(partition) {}

  // Returns the ids of the partition's edges of an existing type: U32 or U64 [edges]. Never blocks. Unavailable: the
  // ids are being fetched, and the caller has to retry; this call has started the fetch if none was running.
  // FailedPrecondition: the partition has neither the ids nor a function that loads them. DataLoss: their file is
  // missing, or they do not match the partition. The error of a fetch is returned by the next call, and the call after
  // that starts a new fetch. ResourceExhausted: no thread can be started.
  Result<Tensor> Get(EdgeTypeId type) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Returns whether `ids`, by edge type, has an id for each edge of the type.
  bool HasIds(EdgeTypeId type, const std::vector<Tensor>& ids) const;
  Result<std::vector<Tensor>> Fetch(const std::stop_token& stop) const;
  void StoreResult(Result<std::vector<Tensor>> ids) ABSL_LOCKS_EXCLUDED(mutex_);

  const graph::PartitionBook& book_;
  const graph::Partition& partition_;
  Mutex mutex_;
  bool is_fetching_ ABSL_GUARDED_BY(mutex_) = false;
  Status error_ ABSL_GUARDED_BY(mutex_);                                // of the last fetch, until it has been returned
  std::optional<std::vector<Tensor>> fetched_ ABSL_GUARDED_BY(mutex_);  // by EdgeTypeId
  std::jthread fetching_ ABSL_GUARDED_BY(mutex_);  // last: joins before other members are destroyed
};

}  // namespace espalier::shard
