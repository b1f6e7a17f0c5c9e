// Writes and reads the files of a partitioning.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "services/format/partition/manifest.h"
#include "services/storage/object_store.h"
#include "services/storage/open_store.h"

namespace espalier::format {

// Reads the manifest at `<prefix>/manifest.json`. Returns NotFound if there is none.
Result<Manifest> ReadManifest(storage::ObjectStore& store, const std::string& prefix);

// Bytes of the files that are read from copies in data_dir because they cannot be mapped in the store.
struct CopiedBytes {
  uint64_t found = 0;    // a copy existed already
  uint64_t fetched = 0;  // the copy was downloaded
};

// Whether the bytes of a file are verified with the checksums of the manifest before they are used. Downloads are
// always verified, block by block.
enum class Checksums {
  kSkip,
  kCompare,
  // Like kCompare, but only one process verifies a copy in data_dir: the others skip the verification as long as a
  // process that loaded the copy with kCompareOnce still uses it.
  kCompareOnce,
};

struct LoadOptions {
  // Files to load in addition to the graph file.
  bool node_columns = true;
  bool edge_columns = false;
  bool original_edge_ids = false;
  Checksums checksums = Checksums::kCompare;
  int threads = 1;  // for verification
  // Folder of a local cache (storage/cache/local_cache.h; on tmpfs or disk). Files of a store that is not local are
  // copied to it, and are not evicted while the partition is in use. Empty: the store must be local.
  std::string data_dir;
  uint64_t cache_bytes = 0;                     // size limit of data_dir; 0: limited by the disk only
  int parallel_requests = 8;                    // of a download
  std::chrono::seconds download_timeout{3600};  // for all files together
  // Called on the calling thread, about once per second during a download and once after it.
  std::function<void(const std::string& key, uint64_t present_bytes, uint64_t size_bytes)> progress = nullptr;
  // If it returns true, a download, the wait for the download of another process, or the verification of files ends
  // with Cancelled. Called from any thread.
  std::function<bool()> stop_requested = nullptr;
  CopiedBytes* copied = nullptr;  // the bytes of copies are added to it, unless null
};

// Returns the absolute path of the folder in `data_dir` where LoadPartition stores copies of the files of this
// partitioning. The folder also holds the manifest, so that the copies can be loaded without the store. The name of the
// folder contains a hash of the manifest, and thereby of the checksums of all files.
Result<std::string> FolderOfCopies(const std::string& data_dir, const Manifest& manifest);

// Maps one partition of an untrusted partitioning. Before it returns, it verifies the checksums (options.checksums) and
// every invariant on which readers rely (monotone indptr, ids in range, ...); a violation is returned as DataLoss that
// names the file and the position. Files are downloaded in parallel ranges; the next call resumes an interrupted
// download. Returns ResourceExhausted, with path and sizes, if data_dir has not enough space.
Result<graph::Partition> LoadPartition(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest,
                                       PartitionId partition, const LoadOptions& options);

// Returns a function for graph::Partition::load_original_edge_ids of a partition that was loaded without original edge
// ids. The function maps and verifies their file as LoadPartition does with these options, and downloads it first if it
// is not local. It returns Cancelled if a stop is requested by `stop` or options.stop_requested. It does not count
// copies in options.copied. Thread-safe.
std::function<Result<std::vector<Tensor>>(const std::stop_token& stop)> MakeOriginalEdgeIdsLoader(
    storage::StoreLocation at, std::shared_ptr<const Manifest> manifest, PartitionId partition, LoadOptions options);

// Writes the four files of one partition to `<prefix>/<attempt>/part-NNNNN/` and returns their entries. `attempt`
// (Manifest::attempt) is unique to one try to make the partitioning, by one partitioner or by a group of them. Returns
// InvalidArgument if `partition` lacks a type of `book`.
// `stop_requested`, unless null, is called before each chunk of at most 8 MiB; if it returns true, Cancelled is
// returned, and the files that are complete remain in the store.
Result<PartitionEntry> WritePartition(storage::ObjectStore& store, const std::string& prefix,
                                      const std::string& attempt, const graph::PartitionBook& book,
                                      const graph::Partition& partition,
                                      const std::function<bool()>& stop_requested = nullptr);

// Commits a partitioning: creates manifest.json. Returns AlreadyExists if another attempt has committed before; the
// caller then uses that manifest.
Status CommitManifest(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest);

}  // namespace espalier::format
