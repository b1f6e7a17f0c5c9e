// An object fetched in blocks, several at once, straight to where they lie in a mapped file. Each block is verified as
// it arrives; what a broken download has left is verified and kept.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "services/base/clock.h"
#include "services/storage/local_cache.h"
#include "services/storage/object_store.h"

namespace espalier::storage {

struct BlockDownload {
  std::string key;
  uint64_t size_bytes = 0;
  std::string etag = {};  // of the version wanted; "": whatever is there
  uint64_t block_bytes = uint64_t{4} << 20;
  // XXH3-64 of block i, which covers [i * block_bytes, (i + 1) * block_bytes). Empty: nobody knows them; those of the
  // blocks that have arrived are noted in the journal, for the next try.
  std::span<const uint64_t> block_hashes;
};

struct DownloadOptions {
  int parallel_requests = 8;
  int max_fetches_per_block = 3;  // a block with a bad checksum is fetched again
  Deadline deadline = Deadline::After(std::chrono::hours(1));
  // Both on the calling thread, about every second, `progress` also at the end.
  std::function<void(uint64_t present_bytes, uint64_t size_bytes)> progress;
  std::function<bool()> stop_requested;
};

struct DownloadReport {
  uint64_t fetched_bytes = 0;
  uint64_t kept_bytes = 0;  // were there already
};

// Bytes that the file needs behind size_bytes: 0 where the hashes are known.
uint64_t JournalBytes(const BlockDownload& download);

// Fills the partial file, which has room for size_bytes and the journal. Errors: DataLoss (a block that stays bad, an
// object that is shorter; names store, key, block, offset), Aborted (another version is there), DeadlineExceeded,
// Cancelled, and the store's own; blocks that have arrived stay in the file.
Result<DownloadReport> DownloadBlocks(ObjectStore& store, const BlockDownload& download, const PartialFile& partial,
                                      const DownloadOptions& options);

}  // namespace espalier::storage
