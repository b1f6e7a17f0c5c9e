// Downloads an object in blocks, several in parallel, directly into a mapped file. If the caller knows the hashes of
// the blocks, each block is verified when it arrives. Valid blocks left by an interrupted download are kept.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "services/base/clock.h"
#include "services/storage/cache/local_cache.h"
#include "services/storage/object_store.h"

namespace espalier::storage {

struct BlockDownload {
  std::string key;
  uint64_t size_bytes = 0;
  std::string etag = {};  // of the version to read; "": any version
  uint64_t block_bytes = uint64_t{4} << 20;
  // By block: XXH3-64 of block i, the bytes [i * block_bytes, (i + 1) * block_bytes). Empty: the hashes are unknown;
  // the hash of each block that arrives is recorded in the journal for the next attempt.
  std::span<const uint64_t> block_hashes;
};

struct DownloadOptions {
  int parallel_requests = 8;
  int max_fetches_per_block = 3;  // a block with a bad checksum is fetched again
  Deadline deadline = Deadline::After(std::chrono::hours(1));
  // These functions, unless null, are called on the calling thread about once per second; `progress` also after
  // success.
  std::function<void(uint64_t present_bytes, uint64_t size_bytes)> progress;
  std::function<bool()> stop_requested;
};

struct DownloadReport {
  uint64_t fetched_bytes = 0;
  uint64_t kept_bytes = 0;  // of valid blocks from an earlier attempt
};

// Returns the number of bytes of the journal, which follows the object's bytes in the partial file; 0 if the hashes are
// known.
uint64_t JournalBytes(const BlockDownload& download);

// Fills the partial file, which must have space for size_bytes and the journal. Blocks that have arrived stay in the
// file after an error. Errors: DataLoss (a block is still damaged after all fetches, and the message has its number and
// offset; or the object is too short), InvalidArgument (the number of hashes is not that of the blocks), Aborted (the
// object has another version), ResourceExhausted (no thread can be started), DeadlineExceeded, Cancelled and the
// store's errors.
Result<DownloadReport> DownloadBlocks(ObjectStore& store, const BlockDownload& download, const PartialFile& partial,
                                      const DownloadOptions& options);

}  // namespace espalier::storage
