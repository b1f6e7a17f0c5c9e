// A cache of objects in a local folder. Its size can be limited, any number of processes share it, and it stays
// consistent when a process is killed.
//
// - `<folder>/.espalier-lock`: locked while a process evicts entries and allocates space.
// - `<folder>/<entry>/.espalier-pin`: marks the folder as an entry.
// - `<folder>/<entry>/a/graph.safetensors`: a complete file.
// - `<folder>/<entry>/a/.espalier-partial-graph.safetensors`: an incomplete file, allocated at its full size.
// - `<folder>/<entry>/a/.espalier-vouched-graph.safetensors-...`: the mark that the file is verified (verified_file.h).
//
// Each user of an entry holds a shared lock on its pin; eviction requires an exclusive one, so an entry in use is never
// evicted. Entries are evicted as a whole, the least recently used (mtime of the pin) first. Entries can be nested; a
// file belongs to the nearest entry. Memory mappings of a file stay valid after its eviction.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "services/base/mutex.h"
#include "services/storage/cache/local_cache_options.h"
#include "services/storage/cache/verified_file.h"
#include "services/storage/files/file_lock.h"

namespace espalier::storage {

// An incomplete file. It may contain bytes that an earlier attempt has written.
struct PartialFile {
  int descriptor = -1;   // open for reading and writing, at position 0; owned by GetOrMake
  std::string path;      // for messages
  bool resumed = false;  // the file contains bytes of an earlier attempt
};

// Which processes verify an existing file.
enum class VerifyWhen {
  // Each process that requests the file.
  kAlways,
  // The first process that requests the file. The file then counts as verified as long as at least one process that
  // has requested it with kOncePerUse keeps the CacheEntry.
  kOncePerUse,
};

// Describes a file of an entry: its name, its size, how to verify it and how to make it.
struct CachedFileRequest {
  std::string name;  // relative, '/'-separated
  uint64_t size_bytes = 0;
  uint64_t journal_bytes = 0;  // extra space after the file's bytes for `fill`; truncated when the file is complete
  // Returns whether an existing file of this size has the right contents. Null: every file of this size is accepted.
  // May return false early once stop_requested returns true; the file is then kept.
  std::function<bool(const std::string& path)> is_good;
  // Writes the bytes of the file. If it returns an error, the partial file is kept for the next attempt.
  std::function<Status(const PartialFile& partial)> fill;
  VerifyWhen verify = VerifyWhen::kAlways;
  // Called while GetOrMake waits for another process that makes or verifies the file, and before GetOrMake calls
  // `fill`. If the result is true, GetOrMake returns Cancelled. Not called while `fill` runs. Null: GetOrMake cannot be
  // stopped.
  std::function<bool()> stop_requested = nullptr;
  // With kOncePerUse: how long to wait for another process that verifies the file. After this time, this process
  // verifies it itself, because the other process may hang. 0: five seconds plus one second per 128 MiB of the file.
  std::chrono::milliseconds max_verification_time{0};
};

// A pinned entry. None of its files is evicted while this object exists. Thread-safe.
class CacheEntry {
 public:
  const std::string& folder() const { return folder_; }  // absolute

  // Returns the path of the complete file; makes the file if it is missing or is_good returns false. One process at a
  // time makes it; other callers wait. Errors: InvalidArgument (the name), ResourceExhausted (the disk or the cache is
  // full and no entry is left to evict; the message contains the path and the sizes), DeadlineExceeded, Cancelled, and
  // the errors of `fill` and of the file system.
  Result<std::string> GetOrMake(const CachedFileRequest& request, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class LocalCache;
  CacheEntry(LocalCacheOptions options, std::string folder, FileLock pin)
      : options_(std::move(options)), folder_(std::move(folder)), pin_(std::move(pin)) {}

  Result<std::optional<FileLock>> LockOrVerify(const CachedFileRequest& request, const std::string& partial,
                                               const std::string& path, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  Status MarkVerified(const CachedFileRequest& request, const std::string& path, Deadline deadline)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Result<bool> IsPresentAndGood(const CachedFileRequest& request, const std::string& path, Deadline deadline);
  Status Make(const CachedFileRequest& request, const FileLock& lock, const std::string& partial,
              const std::string& path, Deadline deadline) const;
  void Keep(const std::string& name, HeldMark mark);

  const LocalCacheOptions options_;  // the folder is absolute
  const std::string folder_;
  const FileLock pin_;
  Mutex mutex_;
  std::map<std::string, HeldMark> marks_ ABSL_GUARDED_BY(mutex_);  // by the file's name
};

// Thread-safe.
class LocalCache {
 public:
  // Creates the folder if it is missing. Errors: InvalidArgument (no folder is given), FailedPrecondition (a file has
  // its name), and other errors of the file system, such as PermissionDenied.
  static Result<LocalCache> Open(const LocalCacheOptions& options);

  const std::string& folder() const { return options_.folder; }  // absolute

  // Returns the entry `name` (relative, '/'-separated) and marks it as just used. Creates it if it is missing. Blocks
  // while another process evicts it. Errors: InvalidArgument (the name), DeadlineExceeded, and those of the file
  // system.
  Result<std::shared_ptr<CacheEntry>> Pin(const std::string& name, Deadline deadline) const;

 private:
  explicit LocalCache(LocalCacheOptions options) : options_(std::move(options)) {}

  const LocalCacheOptions options_;
};

}  // namespace espalier::storage
