// Writing and reading the files of a partitioning.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "services/format/manifest.h"
#include "services/storage/object_store.h"
#include "services/storage/open_store.h"

namespace espalier::format {

// The manifest at `<prefix>/manifest.json`.
Result<Manifest> ReadManifest(storage::ObjectStore& store, const std::string& prefix);

// Of files that could not be mapped where they lie.
struct CopiedBytes {
  uint64_t found = 0;    // a copy was there already
  uint64_t fetched = 0;  // it was made now
};

// Whether a file's bytes are compared with the manifest's checksums before they are used. Bytes that are fetched always
// are, as they arrive.
enum class Checksums {
  kSkip,
  kCompare,
  kCompareOnce,  // not again for a copy in data_dir that another process has compared this way, or fetched, and still
                 // uses
};

struct LoadOptions {
  bool node_columns = true;
  bool edge_columns = false;
  bool original_edge_ids = false;
  Checksums checksums = Checksums::kCompare;
  int threads = 1;
  // Files that cannot be mapped where they lie are copied into this cache first (storage/local_cache.h; tmpfs or
  // disk) and stay there while the partition is in use. Empty: they must be local.
  std::string data_dir;
  uint64_t cache_bytes = 0;  // limit of data_dir; 0: the disk's
  int parallel_requests = 8;
  std::chrono::seconds download_timeout{3600};  // of all files together
  // Called on the calling thread about every second of a download.
  std::function<void(const std::string& key, uint64_t present_bytes, uint64_t size_bytes)> progress = nullptr;
  // True ends a download, the wait for another process's, or the verification of files where they lie, as Cancelled;
  // any thread.
  std::function<bool()> stop_requested = nullptr;
  CopiedBytes* copied = nullptr;  // where to count copies; null: nowhere
};

// The folder below `data_dir` where LoadPartition puts copies of this partitioning's files: a partitioning itself,
// with its manifest, named by the hash of the manifest (and so of all files' checksums). Absolute.
Result<std::string> FolderOfCopies(const std::string& data_dir, const Manifest& manifest);

// Maps one partition. Checksums (options.checksums) and every invariant that a reader relies on are verified before it
// returns (monotone indptr, ids in range, ...): DataLoss names file, block and offset. Untrusted input. Files that are
// fetched come in parallel ranges; a download that broke goes on where it was at the next call. ResourceExhausted: no
// room in data_dir, with path and sizes.
Result<graph::Partition> LoadPartition(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest,
                                       PartitionId partition, const LoadOptions& options);

// For graph::Partition::load_original_edge_ids of a partition that was loaded without them: maps and verifies their
// file as LoadPartition does with these options, after a download where it is not local, which ends as Cancelled where
// the caller asks to stop too. Copies are not counted (options.copied). Thread-safe.
std::function<Result<std::vector<Tensor>>(const std::stop_token& stop)> OriginalEdgeIdsLater(
    storage::StoreLocation at, std::shared_ptr<const Manifest> manifest, PartitionId partition, LoadOptions options);

// Writes one partition's four files under `<prefix>/<attempt>/part-NNNNN/` and returns their entries. Cancelled,
// with files left that are complete, once stop_requested (null: never) says true; it is asked for every 8 MiB.
Result<PartitionEntry> WritePartition(storage::ObjectStore& store, const std::string& prefix,
                                      const std::string& attempt, const graph::PartitionBook& book,
                                      const graph::Partition& partition,
                                      const std::function<bool()>& stop_requested = nullptr);

// Commits: puts manifest.json where none exists. AlreadyExists: another attempt won, use its manifest.
Status CommitManifest(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest);

}  // namespace espalier::format
