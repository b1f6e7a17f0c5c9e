// A partitioning's files where they can be mapped: where they lie, or as copies in a local cache.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "services/format/partition_files.h"
#include "services/storage/local_cache.h"

namespace espalier::format {

struct LocalFile {
  std::string path;
  bool verified = false;            // its checksums were compared, just now or by whoever vouches for it
  std::shared_ptr<const void> pin;  // keeps a copy and its manifest from being evicted; null: it is no copy
};

// One thread at a time.
class PartitionCopies {
 public:
  // All outlive this.
  PartitionCopies(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest,
                  const LoadOptions& options);

  // FailedPrecondition: the file is not local and there is no data_dir. Errors of DownloadBlocks and CacheEntry.
  Result<LocalFile> Get(const FileEntry& file);

 private:
  Result<std::shared_ptr<storage::CacheEntry>> EntryFor(const std::string& folder);
  Status PutManifest();
  Result<LocalFile> Copy(const std::string& key, const FileEntry& file);

  storage::ObjectStore& store_;
  const std::string& prefix_;
  const Manifest& manifest_;
  const LoadOptions& options_;
  const Deadline deadline_;
  std::optional<storage::LocalCache> cache_;
  std::string name_;                                                    // of the copies, in the cache
  std::map<std::string, std::shared_ptr<storage::CacheEntry>> pinned_;  // by folder in name_
};

}  // namespace espalier::format
