// A file under a temporary name that is renamed to its target when it is complete.
//
// Its creator holds a lock on it (flock), which the kernel releases when the creator dies. Other processes can
// therefore distinguish a file that is being written from one that a killed process has left.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "services/base/descriptor.h"
#include "services/base/status.h"

namespace espalier::storage {

// The destructor removes the file unless it has been renamed. Not thread-safe.
class TemporaryFile {
 public:
  // Creates a temporary file in the folder of `target`, and the folder if it is missing.
  static Result<std::unique_ptr<TemporaryFile>> Beside(const std::filesystem::path& target);
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

  // Stays open until the file has its final name, because the lock belongs to the open file. After a successful sync,
  // errors of close do not matter.
  Descriptor file_;
  std::filesystem::path path_;
  std::filesystem::path target_;
  uint64_t bytes_written_ = 0;
};

// Syncs the folder after a rename in it, which survives a power failure only then. Best effort: errors are ignored,
// because some file systems do not support it.
void SyncFolder(const std::filesystem::path& folder);

// The age beyond which a temporary file counts as abandoned on file systems without locks between machines.
constexpr std::chrono::hours kAbandonedAfter{1};

// Returns whether a path has the form of a TemporaryFile's name.
bool IsTemporaryFile(const std::filesystem::path& path);
// Removes the temporary file `path` if it is abandoned: it is not locked and was not written for kAbandonedAfter. Best
// effort: returns whether it no longer exists.
bool RemoveAbandoned(const std::filesystem::path& path);

}  // namespace espalier::storage
