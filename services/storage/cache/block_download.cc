// Workers take the blocks in order, read each one into the mapped file and compare its hash with the caller's. If the
// caller does not know the hashes, the journal, which follows the bytes in the file, stores the hash of each block that
// has arrived. A resumed download keeps the blocks that have the caller's or the journal's hash.
#include "services/storage/cache/block_download.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "services/base/failpoint.h"
#include "services/base/hash.h"
#include "services/base/mutex.h"

namespace espalier::storage {
namespace {

constexpr auto kReportInterval = std::chrono::seconds(1);

uint64_t NumBlocks(const BlockDownload& download) {
  return (download.size_bytes + download.block_bytes - 1) / download.block_bytes;
}

// The journal begins after the bytes, aligned for its hashes.
uint64_t JournalOffset(uint64_t size_bytes) { return (size_bytes + 7) / 8 * 8; }

// A writable mapping of the whole partial file. Its disk space is reserved, so no write fails because the disk is full.
class WritableMapping {
 public:
  static Result<WritableMapping> Create(const PartialFile& file, uint64_t size_bytes) {
    if (size_bytes == 0) return WritableMapping({});
    void* const address = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
    if (address == MAP_FAILED) {
      return FromErrno(errno, "mapping " + std::to_string(size_bytes) + " bytes of " + file.path);
    }
    return WritableMapping({static_cast<std::byte*>(address), size_bytes});
  }
  WritableMapping(WritableMapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  WritableMapping& operator=(WritableMapping&&) = delete;
  ~WritableMapping() {
    if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit WritableMapping(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

// One download. Worker threads take the next block until none is left or one has failed; they check the deadline before
// each fetch. The calling thread reports the progress and checks for stop requests.
class Downloader {
 public:
  Downloader(ObjectStore& store, const BlockDownload& download, const DownloadOptions& options,
             std::span<std::byte> file, bool resumed)
      : store_(store),
        download_(download),
        options_(options),
        file_(file),
        resumed_(resumed),
        num_blocks_(NumBlocks(download)) {}

  Result<DownloadReport> Run() {
    {
      std::vector<std::jthread> workers;
      const auto count = static_cast<int>(
          std::min<uint64_t>(num_blocks_, static_cast<uint64_t>(std::max(1, options_.parallel_requests))));
      {
        MutexLock lock(&mutex_);
        working_ = count;
      }
      try {
        for (int i = 0; i < count; ++i) workers.emplace_back([this] { Work(); });
      } catch (const std::system_error& error) {  // no further thread can be started
        MutexLock lock(&mutex_);
        working_ -= count - static_cast<int>(workers.size());
        if (workers.empty())
          error_ = ResourceExhausted("downloading " + DescribeObject() + ": cannot start a thread: " + error.what());
      }
      WaitForWorkers();
    }
    MutexLock lock(&mutex_);
    if (!error_.ok()) return error_;
    if (options_.progress) options_.progress(download_.size_bytes, download_.size_bytes);
    return DownloadReport{.fetched_bytes = fetched_bytes_, .kept_bytes = kept_bytes_};
  }

 private:
  std::string DescribeObject() const { return store_.Describe() + ": " + download_.key; }

  void Work() {
    for (uint64_t block; !failed_ && (block = next_block_.fetch_add(1)) < num_blocks_;) {
      const Status status = EnsureBlock(block);
      if (!status.ok()) Fail(status);
    }
    MutexLock lock(&mutex_);
    --working_;
  }

  // Runs on the calling thread until all workers have ended.
  void WaitForWorkers() {
    while (true) {
      bool done = false;
      {
        MutexLock lock(&mutex_);
        done = mutex_.AwaitBefore(Deadline::After(kReportInterval),
                                  [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return working_ == 0; });
      }
      if (done) return;
      if (options_.stop_requested && options_.stop_requested())
        Fail(Cancelled("asked to stop downloading " + DescribeObject()));
      if (options_.progress) options_.progress(fetched_bytes_ + kept_bytes_, download_.size_bytes);
    }
  }

  void Fail(const Status& status) {
    MutexLock lock(&mutex_);
    if (error_.ok()) error_ = status;
    failed_ = true;
  }

  ByteRange BlockRange(uint64_t block) const {
    const uint64_t offset = block * download_.block_bytes;
    return {.offset = offset, .length = std::min(download_.block_bytes, download_.size_bytes - offset)};
  }

  std::byte* JournalEntry(uint64_t block) const {
    return file_.data() + JournalOffset(download_.size_bytes) + block * sizeof(uint64_t);
  }

  // Returns the block's hash in the journal; 0 if unknown. A block whose hash is 0 is fetched again, which costs only
  // time.
  uint64_t ReadJournalHash(uint64_t block) const {
    uint64_t hash = 0;
    std::memcpy(&hash, JournalEntry(block), sizeof(hash));
    return hash;
  }

  bool IsPresent(uint64_t block, std::span<const std::byte> bytes) const {
    if (!resumed_) return false;
    if (!download_.block_hashes.empty()) return Hash64(bytes) == download_.block_hashes[block];
    const uint64_t recorded = ReadJournalHash(block);
    return recorded != 0 && Hash64(bytes) == recorded;
  }

  // Fetches the block unless the file already has it.
  Status EnsureBlock(uint64_t block) {
    const ByteRange range = BlockRange(block);
    const std::span<std::byte> bytes = file_.subspan(range.offset, range.length);
    if (IsPresent(block, bytes)) {
      kept_bytes_ += range.length;
      return Status();
    }
    RETURN_IF_ERROR(Fetch(block, range, bytes));
    fetched_bytes_ += range.length;
    return Failpoint("download.block");
  }

  // Fetches a block again if it arrives damaged. Does not repeat failed requests, because the store has retried them.
  Status Fetch(uint64_t block, ByteRange range, std::span<std::byte> bytes) {
    for (int fetch = 1;; ++fetch) {
      if (options_.deadline.HasPassed()) {
        return DeadlineExceeded("downloading " + DescribeObject() + ": " +
                                std::to_string(fetched_bytes_ + kept_bytes_) + " of " +
                                std::to_string(download_.size_bytes) + " bytes are downloaded");
      }
      const Status read = store_.ReadRangeOfVersion(download_.key, download_.etag, range, bytes);
      if (read.code() == StatusCode::kOutOfRange) {
        return DataLoss(DescribeObject() + " is shorter than the " + std::to_string(download_.size_bytes) +
                        " bytes expected: " + read.message());
      }
      if (!read.ok()) return read.While("downloading " + DescribeObject());
      const uint64_t hash = Hash64(bytes);
      if (download_.block_hashes.empty()) {
        std::memcpy(JournalEntry(block), &hash, sizeof(hash));
        return Status();
      }
      if (hash == download_.block_hashes[block]) return Status();
      if (fetch >= options_.max_fetches_per_block) {
        return DataLoss(DescribeObject() + ": block " + std::to_string(block) + " (" + std::to_string(range.length) +
                        " bytes at offset " + std::to_string(range.offset) + ") has checksum " + ToHex(hash) +
                        ", expected " + ToHex(download_.block_hashes[block]) + ", fetched " + std::to_string(fetch) +
                        " times");
      }
    }
  }

  ObjectStore& store_;              // outlives this
  const BlockDownload& download_;   // outlives this
  const DownloadOptions& options_;  // outlives this
  const std::span<std::byte> file_;
  const bool resumed_;
  const uint64_t num_blocks_;
  // Atomic, because the workers share them.
  std::atomic<uint64_t> next_block_{0};
  std::atomic<uint64_t> fetched_bytes_{0}, kept_bytes_{0};
  std::atomic<bool> failed_{false};
  Mutex mutex_;
  int working_ ABSL_GUARDED_BY(mutex_) = 0;
  Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

uint64_t JournalBytes(const BlockDownload& download) {
  if (!download.block_hashes.empty() || download.size_bytes == 0) return 0;
  return JournalOffset(download.size_bytes) - download.size_bytes + NumBlocks(download) * sizeof(uint64_t);
}

Result<DownloadReport> DownloadBlocks(ObjectStore& store, const BlockDownload& download, const PartialFile& partial,
                                      const DownloadOptions& options) {
  if (!download.block_hashes.empty() && download.block_hashes.size() != NumBlocks(download)) {
    return InvalidArgument(download.key + ": " + std::to_string(download.block_hashes.size()) + " checksums for " +
                           std::to_string(NumBlocks(download)) + " blocks");
  }
  ASSIGN_OR_RETURN(const WritableMapping mapping,
                   WritableMapping::Create(partial, download.size_bytes + JournalBytes(download)));
  return Downloader(store, download, options, mapping.bytes(), partial.resumed).Run();
}

}  // namespace espalier::storage
