// A file under a temporary name that is renamed to its target when it is complete.
//
// The process that creates the file holds a lock on it (flock), which the kernel releases when the process dies. Other
// processes can therefore distinguish a file that is being written from one that a killed process has left.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "services/base/descriptor.h"
#include "services/base/status.h"

namespace espalier::storage {

// The destructor removes the temporary name, if the file still has it. Not thread-safe.
class TemporaryFile {
 public:
  // Creates a temporary file in the folder of `target`, and the folder if it is missing.
  static Result<std::unique_ptr<TemporaryFile>> CreateBeside(const std::filesystem::path& target);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Appends `bytes`. ResourceExhausted (the disk is full) names the path, the bytes to write and those written so far.
  Status Write(std::span<const std::byte> bytes);
  // Syncs the file and renames it to the target, replacing an existing file.
  Status RenameToTarget();
  // Syncs the file and gives it the target's name; returns AlreadyExists if a file has this name.
  Status LinkToTarget();

 private:
  TemporaryFile(Descriptor file, std::filesystem::path path, std::filesystem::path target)
      : file_(std::move(file)), path_(std::move(path)), target_(std::move(target)) {}
  Status Sync();

  // Stays open until the file has its final name, because the lock belongs to the open file. Errors of close are
  // ignored: Sync has already reported whether the bytes are on the disk.
  Descriptor file_;
  std::filesystem::path path_;
  std::filesystem::path target_;
  uint64_t bytes_written_ = 0;
};

// Syncs the folder; a rename in it survives a power failure only after this. Best effort: errors are ignored, because
// some file systems cannot sync folders.
void SyncFolder(const std::filesystem::path& folder);

// A temporary file counts as abandoned only if its last write is longer ago than this. On file systems without locks
// between machines, only this limit distinguishes an abandoned file from one that is being written.
constexpr std::chrono::hours kAbandonedAfter{1};

// Returns whether the file name of `path` is that of a TemporaryFile. Does not access the file.
bool IsTemporaryFile(const std::filesystem::path& path);
// Removes the temporary file `path` if it is abandoned: not locked and not written for kAbandonedAfter. Best effort:
// errors are ignored. Returns whether the file no longer exists.
bool RemoveAbandoned(const std::filesystem::path& path);

}  // namespace espalier::storage
