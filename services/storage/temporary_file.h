// A file under a name that nobody looks for, until it is given its own.
//
// Its maker holds a lock on it (flock), which the kernel gives back when the maker dies: so others can tell a write
// under way from what a killed process has left.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "services/base/descriptor.h"
#include "services/base/status.h"

namespace espalier::storage {

// Removed on destruction unless renamed. One thread at a time.
class TemporaryFile {
 public:
  // Beside `target`, whose folder is made where it is missing.
  static Result<std::unique_ptr<TemporaryFile>> Beside(const std::filesystem::path& target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // ResourceExhausted names the path, the bytes to write and the bytes written so far when the disk is full.
  Status Write(std::span<const std::byte> bytes);
  // Syncs and takes target's name, over whatever had it.
  Status RenameToTarget();
  // Syncs and takes target's name only where nobody has it: AlreadyExists otherwise.
  Status LinkToTarget();

 private:
  TemporaryFile(Descriptor file, std::filesystem::path path, std::filesystem::path target)
      : file_(std::move(file)), path_(std::move(path)), target_(std::move(target)) {}
  Status Sync();

  // Closed only when the file has its name: the lock is on the open file. What is synced needs nothing of close.
  Descriptor file_;
  std::filesystem::path path_;
  std::filesystem::path target_;
  uint64_t bytes_written_ = 0;
};

// After a rename in it, which survives a power cut only then. Best effort: some file systems refuse it.
void SyncFolder(const std::filesystem::path& folder);

// Beyond this age nothing is being written that way, as far as file systems go that keep no locks between machines.
constexpr std::chrono::hours kAbandonedAfter{1};

// Whether a file has the name of a TemporaryFile, as far as its path tells.
bool IsTemporaryFile(const std::filesystem::path& path);
// Removes the temporary file `path` if nobody is writing it: not locked, and not written to for kAbandonedAfter.
// Best effort: true where it is gone.
bool RemoveAbandoned(const std::filesystem::path& path);

}  // namespace espalier::storage
