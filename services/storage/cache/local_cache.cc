// A file is made under its partial name, which is locked exclusively, and renamed when it is complete; so a killed
// process leaves no incomplete file under the final name. With kOncePerUse, an existing file is verified under the same
// lock: of many processes that start at once, one verifies the file and holds its mark (verified_file.h), which the
// others find. A process that waits longer than max_verification_time verifies the file without the lock, because the
// holder may hang.
#include "services/storage/cache/local_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "services/base/failpoint.h"
#include "services/base/make_folder.h"
#include "services/storage/cache/cache_room.h"
#include "services/storage/object_key.h"

namespace espalier::storage {
namespace {

namespace fs = std::filesystem;

// Creates the folder of `path` and locks the file. Retries if an eviction removes the empty folder before the file is
// created in it.
Result<FileLock> LockInFolder(const fs::path& path, LockMode mode, Deadline deadline,
                              const std::function<bool()>& stop_requested = nullptr) {
  while (true) {
    RETURN_IF_ERROR(MakeFolder(path.parent_path()));
    Result<FileLock> lock = FileLock::Acquire(path, mode, deadline, stop_requested);
    if (lock.ok() || lock.status().code() != StatusCode::kNotFound) return lock;
    if (deadline.HasPassed()) return DeadlineExceeded("waiting for the lock on " + path.string());
  }
}

// Returns whether `path` is a regular file of the requested size.
bool HasRequestedSize(const std::string& path, const CachedFileRequest& request) {
  struct stat about = {};
  if (lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  return static_cast<uint64_t>(about.st_size) == request.size_bytes;
}

bool IsComplete(const std::string& path, const CachedFileRequest& request) {
  return HasRequestedSize(path, request) && (!request.is_good || request.is_good(path));
}

// Returns how long another process may verify the file before this one verifies it itself. The default assumes that a
// healthy disk reads at least 128 MiB/s.
std::chrono::milliseconds MaxVerificationTime(const CachedFileRequest& request) {
  constexpr uint64_t kBytesPerSecond = uint64_t{128} << 20;
  if (request.max_verification_time.count() > 0) return request.max_verification_time;
  return std::chrono::seconds(5 + request.size_bytes / kBytesPerSecond);
}

}  // namespace

std::string DefaultCacheFolder(const EnvironmentMap& environment) {
  const std::string cache = FindValue(environment, "XDG_CACHE_HOME");
  if (cache.starts_with('/')) return cache + "/espalier";
  const std::string home = FindValue(environment, "HOME");
  return home.starts_with('/') ? home + "/.cache/espalier" : "";
}

Result<LocalCache> LocalCache::Open(const LocalCacheOptions& options) {
  if (options.folder.empty()) return InvalidArgument("the path of the cache folder is empty");
  std::error_code error;
  const fs::path folder = fs::absolute(options.folder, error);
  if (error) return FromErrno(error.value(), "finding " + options.folder);
  RETURN_IF_ERROR(MakeFolder(folder));
  // Without symbolic links, so that each path in the cache has one spelling.
  const fs::path real = fs::canonical(folder, error);
  if (error) return FromErrno(error.value(), "finding " + options.folder);
  return LocalCache({.folder = real.string(), .max_bytes = options.max_bytes});
}

Result<std::shared_ptr<CacheEntry>> LocalCache::Pin(const std::string& name, Deadline deadline) const {
  RETURN_IF_ERROR(CheckKey(name));
  const fs::path folder = fs::path(options_.folder) / name;
  ASSIGN_OR_RETURN(FileLock pin, LockInFolder(folder / kPinName, LockMode::kShared, deadline));
  if (futimens(pin.descriptor(), nullptr) != 0) return FromErrno(errno, "touching the pin of " + folder.string());
  return std::shared_ptr<CacheEntry>(new CacheEntry(options_, folder.string(), std::move(pin)));
}

Result<std::string> CacheEntry::GetOrMake(const CachedFileRequest& request, Deadline deadline) {
  RETURN_IF_ERROR(CheckKey(request.name));
  const fs::path path = fs::path(folder_) / request.name;
  if (request.verify == VerifyWhen::kAlways && IsComplete(path, request)) return path.string();
  const fs::path partial = path.parent_path() / (std::string(kTemporaryPrefix) + "partial-" + path.filename().string());
  ASSIGN_OR_RETURN(const std::optional<FileLock> lock, LockOrVerify(request, partial, path, deadline));
  if (!lock.has_value()) return path.string();
  ASSIGN_OR_RETURN(const bool is_there, IsPresentAndGood(request, path, deadline));
  if (is_there) {  // another process may have made the file while this one waited for the lock
    unlink(partial.c_str());
    return path.string();
  }
  RETURN_IF_ERROR(Make(request, *lock, partial, path, deadline));
  // After the rename, another process can create and lock a new partial file. If it does so before the mark is held, it
  // verifies the complete file once more, which does no harm.
  if (request.verify == VerifyWhen::kOncePerUse) RETURN_IF_ERROR(MarkVerified(request, path, deadline));
  return path.string();
}

// Returns the lock on the partial file. Returns nullopt if another process has held the lock for longer than
// max_verification_time and this process has verified the file without the lock.
Result<std::optional<FileLock>> CacheEntry::LockOrVerify(const CachedFileRequest& request, const std::string& partial,
                                                         const std::string& path, Deadline deadline) {
  bool may_verify = request.verify == VerifyWhen::kOncePerUse;
  while (true) {
    const Deadline patience = may_verify ? deadline.AtMost(MaxVerificationTime(request)) : deadline;
    Result<FileLock> lock = LockInFolder(partial, LockMode::kExclusive, patience, request.stop_requested);
    if (lock.ok()) return std::optional<FileLock>(*std::move(lock));
    const bool is_out_of_patience = may_verify && lock.status().code() == StatusCode::kDeadlineExceeded;
    if (!is_out_of_patience || deadline.HasPassed()) return lock.status();
    if (!HasRequestedSize(path, request)) continue;  // the other process still makes it
    may_verify = false;
    if (!IsComplete(path, request)) continue;
    RETURN_IF_ERROR(MarkVerified(request, path, deadline));
    return std::optional<FileLock>();
  }
}

// Marks the file at `path` as verified until this entry is destroyed.
Status CacheEntry::MarkVerified(const CachedFileRequest& request, const std::string& path, Deadline deadline) {
  ASSIGN_OR_RETURN(HeldMark mark, HoldMark(path, deadline, request.stop_requested));
  Keep(request.name, std::move(mark));
  return Status();
}

// Returns whether the file exists and is good; with kOncePerUse, this entry then holds its mark. The caller holds the
// lock on the partial file, which serializes the calls of ShareHeldMark.
Result<bool> CacheEntry::IsPresentAndGood(const CachedFileRequest& request, const std::string& path,
                                          Deadline deadline) {
  if (request.verify == VerifyWhen::kAlways) return IsComplete(path, request);
  if (!HasRequestedSize(path, request)) return false;
  ASSIGN_OR_RETURN(std::optional<HeldMark> mark, ShareHeldMark(path));
  if (!mark.has_value()) {
    if (!IsComplete(path, request)) return false;
    RETURN_IF_ERROR(MarkVerified(request, path, deadline));
    return true;
  }
  Keep(request.name, *std::move(mark));
  return true;
}

void CacheEntry::Keep(const std::string& name, HeldMark mark) {
  MutexLock lock(&mutex_);
  marks_.insert_or_assign(name, std::move(mark));
}

Status CacheEntry::Make(const CachedFileRequest& request, const FileLock& lock, const std::string& partial,
                        const std::string& path, Deadline deadline) const {
  // Keeps an existing file, which may be good: is_good may have returned false because of the stop request.
  if (request.stop_requested && request.stop_requested()) return Cancelled("asked to stop before making " + path);
  const int descriptor = lock.descriptor();
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) return FromErrno(errno, "reading the attributes of " + partial);
  unlink(path.c_str());  // the file that is not good; its mappings stay valid
  const uint64_t size_bytes = request.size_bytes + request.journal_bytes;
  bool resumed = about.st_size > 0;
  if (static_cast<uint64_t>(about.st_size) > size_bytes) {  // of an attempt to make a file with other contents
    if (ftruncate(descriptor, 0) != 0) return FromErrno(errno, "truncating " + partial);
    resumed = false;
  }
  const Status room = MakeRoom(options_.folder, options_.max_bytes, descriptor, partial, size_bytes, deadline);
  if (!room.ok()) {
    unlink(partial.c_str());  // frees its space
    return room;
  }
  RETURN_IF_ERROR(request.fill({.descriptor = descriptor, .path = partial, .resumed = resumed}));
  if (request.journal_bytes > 0 && ftruncate(descriptor, static_cast<off_t>(request.size_bytes)) != 0) {
    return FromErrno(errno, "truncating " + partial);
  }
  RETURN_IF_ERROR(Failpoint("download.before_rename"));
  fchmod(descriptor, 0644);
  if (rename(partial.c_str(), path.c_str()) != 0) return FromErrno(errno, "renaming " + partial + " to " + path);
  return Status();
}

}  // namespace espalier::storage
