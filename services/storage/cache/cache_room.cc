// One process at a time makes room in a cache, under an exclusive lock on <cache folder>/.espalier-lock. It lists the
// cache, assigns each file to the entry of the nearest folder with a pin, and evicts entries in the order of their
// pins' mtime. An entry is in use if its pin cannot be locked exclusively. There is no index: the folder itself is the
// state, so a process that is killed leaves nothing inconsistent.
#include "services/storage/cache/cache_room.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <vector>

#include "services/storage/files/allocate.h"
#include "services/storage/files/file_lock.h"

namespace espalier::storage {
namespace {

namespace fs = std::filesystem;

struct Entry {
  fs::path folder;
  std::vector<fs::path> files;  // except the pin
  uint64_t size_bytes = 0;
  timespec last_use = {};  // mtime of the pin
};

struct Content {
  std::vector<Entry> entries;  // least recently used first
  uint64_t size_bytes = 0;     // of all files, in entries or not
};

bool IsEarlier(const Entry& a, const Entry& b) {
  if (a.last_use.tv_sec != b.last_use.tv_sec) return a.last_use.tv_sec < b.last_use.tv_sec;
  if (a.last_use.tv_nsec != b.last_use.tv_nsec) return a.last_use.tv_nsec < b.last_use.tv_nsec;
  return a.folder < b.folder;
}

// Returns the entry of `folder`, or of its nearest parent that is an entry; end() if there is none.
std::map<fs::path, Entry>::iterator FindEntryAbove(std::map<fs::path, Entry>& entries, fs::path folder,
                                                   const fs::path& cache_folder) {
  while (folder != cache_folder && folder.has_relative_path()) {
    if (const auto found = entries.find(folder); found != entries.end()) return found;
    folder = folder.parent_path();
  }
  return entries.end();
}

// Lists the cache. Other processes create and remove files meanwhile; files that vanish are skipped.
Result<Content> ReadContent(const fs::path& cache_folder) {
  std::error_code error;
  std::vector<std::pair<fs::path, uint64_t>> files;
  std::map<fs::path, Entry> entries;
  fs::recursive_directory_iterator at(cache_folder, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && at != end; at.increment(error)) {
    struct stat about = {};
    if (lstat(at->path().c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    if (at->path().filename() == kPinName) {
      entries[at->path().parent_path()] = {at->path().parent_path(), {}, 0, about.st_mtim};
    } else {
      files.emplace_back(at->path(), static_cast<uint64_t>(about.st_size));
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return FromErrno(error.value(), "listing " + cache_folder.string());
  }
  Content content;
  for (auto& [file, size_bytes] : files) {
    content.size_bytes += size_bytes;
    const auto entry = FindEntryAbove(entries, file.parent_path(), cache_folder);
    if (entry == entries.end()) continue;
    entry->second.size_bytes += size_bytes;
    entry->second.files.push_back(std::move(file));
  }
  for (auto& [folder, entry] : entries) content.entries.push_back(std::move(entry));
  std::sort(content.entries.begin(), content.entries.end(), IsEarlier);
  return content;
}

void RemoveEmptyFolders(fs::path folder, const fs::path& cache_folder) {
  std::error_code error;
  for (; folder != cache_folder; folder = folder.parent_path()) {
    if (!fs::remove(folder, error) || error) return;  // not empty
  }
}

// Evicts the entry; returns false if it is in use. Removes the pin last, so that an interrupted eviction leaves an
// entry that can be evicted later.
bool Evict(const Entry& entry, const fs::path& cache_folder) {
  const fs::path pin = entry.folder / kPinName;
  const Result<FileLock> lock = FileLock::TryAcquire(pin, LockMode::kExclusive);
  if (!lock.ok()) return false;
  std::error_code ignored;
  for (const fs::path& file : entry.files) fs::remove(file, ignored);
  fs::remove(pin, ignored);
  for (const fs::path& file : entry.files) RemoveEmptyFolders(file.parent_path(), cache_folder);
  RemoveEmptyFolders(entry.folder, cache_folder);
  return true;
}

// Evicts the first entry of content->entries that is not in use; returns false if there is none.
bool EvictNext(const fs::path& cache_folder, Content* content) {
  while (!content->entries.empty()) {
    const Entry entry = std::move(content->entries.front());
    content->entries.erase(content->entries.begin());
    if (!Evict(entry, cache_folder)) continue;
    content->size_bytes -= entry.size_bytes;
    return true;
  }
  return false;
}

// Evicts entries until `missing_bytes` more fit within max_bytes.
Status EvictToLimit(const std::string& cache_folder, uint64_t max_bytes, uint64_t missing_bytes,
                    const std::string& path, Content* content) {
  while (content->size_bytes + missing_bytes > max_bytes) {
    if (EvictNext(cache_folder, content)) continue;
    return ResourceExhausted("making room for " + std::to_string(missing_bytes) + " bytes of " + path + ": the cache " +
                             cache_folder + " is limited to " + std::to_string(max_bytes) + " bytes, of which " +
                             std::to_string(content->size_bytes) + " are in use");
  }
  return Status();
}

// Returns a clause for an error message, or "" if the free space is unknown.
std::string DescribeFreeSpace(const std::string& folder) {
  struct statvfs about = {};
  if (statvfs(folder.c_str(), &about) != 0) return "";
  return ", the file system has " + std::to_string(uint64_t{about.f_bavail} * about.f_frsize) + " bytes free";
}

}  // namespace

Status MakeRoom(const std::string& cache_folder, uint64_t max_bytes, int descriptor, const std::string& path,
                uint64_t size_bytes, Deadline deadline) {
  ASSIGN_OR_RETURN(const FileLock lock,
                   FileLock::Acquire(cache_folder + "/.espalier-lock", LockMode::kExclusive, deadline));
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) return FromErrno(errno, "reading the attributes of " + path);
  const auto present_bytes = static_cast<uint64_t>(about.st_size);
  const uint64_t missing_bytes = size_bytes > present_bytes ? size_bytes - present_bytes : 0;
  // Without a limit, the cache is listed only if the disk is full.
  Content content;
  if (max_bytes > 0 && missing_bytes > 0) {
    ASSIGN_OR_RETURN(content, ReadContent(cache_folder));
    RETURN_IF_ERROR(EvictToLimit(cache_folder, max_bytes, missing_bytes, path, &content));
  }
  int error = AllocateBlocks(descriptor, size_bytes);
  if (IsOutOfSpace(error)) {
    ASSIGN_OR_RETURN(content, ReadContent(cache_folder));
    while (IsOutOfSpace(error) && EvictNext(cache_folder, &content)) error = AllocateBlocks(descriptor, size_bytes);
  }
  if (IsOutOfSpace(error)) {
    return ResourceExhausted("making room for " + std::to_string(size_bytes) + " bytes of " + path +
                             ": no space left on device" + DescribeFreeSpace(cache_folder));
  }
  return error == 0 ? Status() : FromErrno(error, "making room for " + path);
}

}  // namespace espalier::storage
