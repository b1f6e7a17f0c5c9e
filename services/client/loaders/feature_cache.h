// A data loader's cache for feature rows that are requested from graph servers. The loader samples mini-batches some
// steps before their rows are read, so the cache can keep the rows that will be read soonest. The cache reduces the
// number of rows that graph servers send; it does not change their values.
//
//   ASSIGN_OR_RETURN(options.feature_cache,
//                    FeatureCache::Make(*graph, {.columns = {{paper, "feat"}}, .memory_bytes = uint64_t{2} << 30}));
//   const auto collate = [cache = options.feature_cache](MiniBatch batch, const Deadline& deadline) -> Result<Batch> {
//     ASSIGN_OR_RETURN(Tensor rows, cache->GatherNodeRows(paper, "feat", batch.nodes[paper.value], deadline));
//     ...
//   };
//   ASSIGN_OR_RETURN(auto loader, NodeDataLoader<Batch>::Make(*graph, train_nodes, options, collate));
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/mutex.h"
#include "services/client/graph/dist_graph.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/row_cache/scheduled_row_cache.h"

namespace espalier::client {

struct FeatureCacheOptions {
  // Node columns of the graph whose rows are cached, at least one. Attached tensors cannot be cached, because they
  // change.
  std::vector<std::pair<NodeTypeId, std::string>> columns;
  // Limit in bytes, at least 1, for the cached rows, their index, and the node ids of the mini-batches that are sampled
  // ahead. These mini-batches themselves may take another `memory_bytes`.
  uint64_t memory_bytes = 0;
  uint32_t steps = 32;  // 1 to 1000: mini-batches sampled ahead of the one whose rows are read
};

// Serves one loader at a time: the loader whose options contain the cache. After that loader is destroyed, the cache
// keeps its rows and may serve another loader.
class FeatureCache {
 public:
  static constexpr uint32_t kMaxSteps = 1000;

  // Creates a cache, which holds a reference to the graph. If this process maps or loads all partitions, the cache
  // stays empty. InvalidArgument: a number is out of range, or there are no columns. NotFound: a column does not exist.
  static Result<std::shared_ptr<FeatureCache>> Make(const DistGraph& graph, const FeatureCacheOptions& options);

  // Like DistGraph::GatherNodeRows, with the same errors. If `column` is cached and `nodes` are all nodes of the type
  // in the mini-batch that is being collated, rows in the cache are not requested from servers. Must be called only by
  // the loader's `collate`.
  Result<Tensor> GatherNodeRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                                const Deadline& deadline);

  // Returns the number of rows that were found in the cache and the number that were fetched from servers, over all
  // mini-batches before the one that is being collated, and the bytes of these rows. Thread-safe.
  sampler::RowCacheCounts counts() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns how many of the FeatureCacheOptions::memory_bytes were in use after the last mini-batch that counts()
  // includes. Thread-safe.
  uint64_t held_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

  // For loaders: returns a source of the same mini-batches that samples ahead for `cache`. It owns `source` and a
  // reference to `cache`. FailedPrecondition: another loader uses the cache. InvalidArgument: the cache was made for
  // another graph.
  static Result<std::unique_ptr<sampler::MiniBatchSource>> MakeBatches(
      std::shared_ptr<FeatureCache> cache, const DistGraph& graph, std::unique_ptr<sampler::MiniBatchSource> source);

 private:
  class Batches;

  FeatureCache(const DistGraph& graph, const std::vector<sampler::ColumnDescription>& columns,
               const FeatureCacheOptions& options);
  // Begins the step of the next mini-batch, which reads the rows of `nodes` (indexed by NodeTypeId). Copies `nodes`.
  void BeginStep(const std::vector<std::vector<GlobalNodeId>>& nodes);
  // Ends the step that has begun, if there is one, and publishes the counts.
  void EndStep() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<sampler::PartitionedGraph> graph_;
  const std::chrono::milliseconds call_timeout_;
  const FeatureCacheOptions options_;
  // Used by the thread that makes the loader's mini-batches; null if no rows are remote.
  const std::unique_ptr<sampler::ScheduledRowCache> rows_;
  bool has_begun_ = false;                        // whether a step has begun
  std::vector<std::vector<GlobalNodeId>> nodes_;  // of the begun step

  mutable Mutex mutex_;
  bool is_used_ ABSL_GUARDED_BY(mutex_) = false;  // whether a loader uses the cache
  sampler::RowCacheCounts counts_ ABSL_GUARDED_BY(mutex_);
  uint64_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::client
