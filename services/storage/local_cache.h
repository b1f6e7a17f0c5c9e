// Copies of objects in a local folder: bounded, shared by any number of processes, intact whenever one is killed.
//
//   <folder>/.espalier-lock                           held while room is made
//   <folder>/<entry>/.espalier-pin                    what makes a folder an entry
//   <folder>/<entry>/a/graph.safetensors              a file: complete
//   <folder>/<entry>/a/.espalier-partial-graph.safetensors   a file in the making, at its full size from the start
//   <folder>/<entry>/a/.espalier-vouched-graph.safetensors-...   who has found it good (vouched_file.h)
//
// Who uses an entry holds its pin locked, shared; who evicts it, exclusively. Entries go as a whole, the one used
// least recently (mtime of the pin) first, never one in use. An entry may lie within another; a file belongs to the
// nearest. What a process has mapped stays valid whatever becomes of the names.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "services/base/mutex.h"
#include "services/storage/file_lock.h"
#include "services/storage/local_cache_options.h"
#include "services/storage/vouched_file.h"

namespace espalier::storage {

// A file in the making. Its bytes may be what a try before left there.
struct PartialFile {
  int descriptor = -1;   // open for reading and writing; not the callee's to close
  std::string path;      // for messages
  bool resumed = false;  // a try before this one has left something
};

// Who looks whether a file that is there is good.
enum class Look {
  kAlways,      // whoever asks for it
  kOncePerUse,  // the first: what a process that still has the entry has found good this way, or made, is taken as it
                // is
};

// What a file of an entry shall be.
struct CachedFileRequest {
  std::string name;  // relative, '/'-separated
  uint64_t size_bytes = 0;
  uint64_t journal_bytes = 0;  // room behind the file for `fill`, cut off at the end
  // What is there already and has the size: is it good? Null: it is. May say no at once when a stop is requested: then
  // the file stays.
  std::function<bool(const std::string& path)> is_good;
  // Makes the bytes. After an error what is there stays for the next try.
  std::function<Status(const PartialFile& partial)> fill;
  Look look = Look::kAlways;
  // True ends the wait for another process, which makes the file or looks at it, as Cancelled, and nothing is made.
  // Null: never.
  std::function<bool()> stop_requested = nullptr;
  // With kOncePerUse: for how long another process's look is waited for before this one looks itself, for the other one
  // may hang. 0: five seconds, and one for each 128 MiB.
  std::chrono::milliseconds longest_look{0};
};

// A pinned entry: nothing of it is evicted. Thread-safe.
class CacheEntry {
 public:
  const std::string& folder() const { return folder_; }  // absolute

  // The path of a complete file. One process at a time makes it, others wait for it. ResourceExhausted: neither the
  // disk nor the cache's limit has room, and nothing that could go is left; the message has path and sizes. Any error
  // of `fill`.
  Result<std::string> GetOrMake(const CachedFileRequest& request, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class LocalCache;
  CacheEntry(LocalCacheOptions options, std::string folder, FileLock pin)
      : options_(std::move(options)), folder_(std::move(folder)), pin_(std::move(pin)) {}

  Result<std::optional<FileLock>> LockUnlessGood(const CachedFileRequest& request, const std::string& partial,
                                                 const std::string& path, Deadline deadline)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Status VouchFor(const CachedFileRequest& request, const std::string& path, Deadline deadline)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Result<bool> IsThere(const CachedFileRequest& request, const std::string& path, Deadline deadline);
  Status Make(const CachedFileRequest& request, const FileLock& lock, const std::string& partial,
              const std::string& path, Deadline deadline) const;
  void Keep(const std::string& name, Voucher voucher);

  const LocalCacheOptions options_;  // folder: absolute
  const std::string folder_;
  const FileLock pin_;
  Mutex mutex_;
  std::map<std::string, Voucher> vouchers_ ABSL_GUARDED_BY(mutex_);  // by the file's name
};

// Thread-safe.
class LocalCache {
 public:
  // Makes the folder. FailedPrecondition, PermissionDenied: it cannot be.
  static Result<LocalCache> Open(const LocalCacheOptions& options);

  const std::string& folder() const { return options_.folder; }  // absolute

  // The entry `name` (relative, '/'-separated), made where there is none, as just used.
  Result<std::shared_ptr<CacheEntry>> Pin(const std::string& name, Deadline deadline) const;

 private:
  explicit LocalCache(LocalCacheOptions options) : options_(std::move(options)) {}

  const LocalCacheOptions options_;
};

}  // namespace espalier::storage
