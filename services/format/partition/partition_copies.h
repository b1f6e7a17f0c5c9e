// Provides the files of a partitioning as local files that can be mapped: the files of a local store themselves, or
// copies in a local cache.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "services/format/partition/partition_files.h"
#include "services/storage/cache/local_cache.h"

namespace espalier::format {

struct LocalFile {
  std::string path;
  // Whether the checksums of a copy were compared, by this process or (Checksums::kCompareOnce) by another one. False
  // with Checksums::kSkip and for a file of a local store.
  bool verified = false;
  std::shared_ptr<const void> pin;  // prevents eviction of a copy and of its manifest; null if the file is not a copy
};

// Thread-compatible.
class PartitionCopies {
 public:
  // All arguments must outlive this object.
  PartitionCopies(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest,
                  const LoadOptions& options);

  // Returns `file` itself if the store is local, without checking its size. Otherwise returns a copy in
  // options.data_dir, or FailedPrecondition if data_dir is empty, DataLoss if the size in the store differs from the
  // manifest, and errors of the store, DownloadBlocks and CacheEntry.
  Result<LocalFile> Get(const FileEntry& file);

 private:
  // Returns the pinned cache entry of a folder relative to name_.
  Result<std::shared_ptr<storage::CacheEntry>> EntryFor(const std::string& folder);
  Status PutManifest();
  Result<LocalFile> Copy(const std::string& key, const FileEntry& file);

  storage::ObjectStore& store_;
  const std::string& prefix_;
  const Manifest& manifest_;
  const LoadOptions& options_;
  const Deadline deadline_;
  std::optional<storage::LocalCache> cache_;
  std::string name_;                                                    // folder of the copies in the cache
  std::map<std::string, std::shared_ptr<storage::CacheEntry>> pinned_;  // by folder relative to name_
};

}  // namespace espalier::format
