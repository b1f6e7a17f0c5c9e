// Loads a partition from its files, so that a graph server can serve it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "services/format/partition/manifest.h"
#include "services/format/partition/partition_files.h"
#include "services/server/graph_service.h"
#include "services/shard/graph_shard.h"
#include "services/storage/cache/local_cache.h"
#include "services/storage/open_store.h"

namespace espalier::server {

// Returns the description that clients get of the manifest's graph.
sampler::GraphDescription DescribeGraph(const format::Manifest& manifest);

struct ServedPartitionOptions {
  storage::StoreOpener open_store = storage::OpenerWith({});
  // Cache for copies of files that cannot be mapped in place; without a folder, all files must be mappable.
  storage::LocalCacheOptions cache;
  int threads = 1;
  // Polled on any thread during a download, the wait for another process's download, and the verification of local
  // files. Once it returns true, loading ends with Cancelled.
  std::function<bool()> stop_requested;
  std::shared_ptr<const sampler::RowInitializers> initializers = nullptr;  // of plugins; null: none
};

struct LoadedPartition {
  format::Manifest manifest;
  std::shared_ptr<shard::GraphShard> shard;
  format::CopiedBytes copied;  // sizes of the files that could not be mapped in place
  // URI of the partitioning whose files are mapped: the one that was requested, or its copy in the cache folder.
  std::string local_uri;
};

// Maps and verifies partition `partition` of the partitioning at `uri`, downloading it first if it is not local.
// Returns OutOfRange if the partitioning has no partition with this number.
Result<LoadedPartition> LoadServedPartition(const std::string& uri, uint32_t partition,
                                            const ServedPartitionOptions& options);

}  // namespace espalier::server
