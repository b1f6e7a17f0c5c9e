// Receives a file in blocks and verifies each block. Valid blocks of an earlier, interrupted transfer are kept. A file
// that already exists with the same content is not transferred.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "services/format/partition/manifest.h"
#include "services/runner/launch/message.h"
#include "services/storage/files/file_lock.h"

namespace espalier::launch {

// Not thread-safe. If destroyed before Commit, it leaves FILE.espalier-part, from which the next transfer continues.
class FileReceiver {
 public:
  static constexpr std::chrono::seconds kLockTimeout{10};

  // Starts the transfer that `message` announces: a message `receive` with the fields `file`, an absolute path;
  // `bytes`, the size; `mode`, the permissions; and `blocks`, the XXH3-64 hash of each 4 MiB block. Reads and verifies
  // the blocks that exist. InvalidArgument if the message is invalid. DeadlineExceeded if another transfer to the same
  // file lasts for longer than `patience`.
  static Result<FileReceiver> Begin(const Message& message, std::chrono::nanoseconds patience = kLockTimeout);

  const std::set<uint64_t>& wanted() const { return wanted_; }  // numbers of the missing blocks
  // Returns whether the file already had this content at Begin.
  bool was_there() const { return was_there_; }
  // Verifies and writes a block of wanted(). DataLoss if its size or hash differs from the announced one;
  // InvalidArgument if the block is not in wanted().
  Status WriteBlock(uint64_t block, const std::string& bytes);
  // Sets the permissions, syncs the file to disk and renames it to its final name. Internal if wanted() is not empty.
  Status Commit();

 private:
  FileReceiver() = default;
  std::set<uint64_t> FindMissingBlocks(const std::string& path) const;

  std::string path_;
  int mode_ = 0644;
  format::FileEntry entry_;
  std::set<uint64_t> wanted_;
  bool was_there_ = false;
  std::optional<storage::FileLock> part_;  // the locked FILE.espalier-part
};

}  // namespace espalier::launch
