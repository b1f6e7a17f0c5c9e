// A file that comes in blocks, each verified as it comes. What an earlier try has left is verified and kept, and a file
// that is there already is left as it is.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "services/format/manifest.h"
#include "services/runner/launch/message.h"
#include "services/storage/file_lock.h"

namespace espalier::launch {

// Owned by one thread. Destroyed without Commit it leaves FILE.espalier-part, where the next try goes on.
class FileReceiver {
 public:
  static constexpr std::chrono::seconds kPatience{10};

  // From the message `receive`: `file`, an absolute path; `bytes`; `mode`, its permissions; `blocks`, the XXH3-64 of
  // each 4 MiB. Reads what is there. DeadlineExceeded: another copy writes the file for longer than `patience`.
  static Result<FileReceiver> Begin(const Message& message, std::chrono::nanoseconds patience = kPatience);

  const std::set<uint64_t>& wanted() const { return wanted_; }  // blocks that are still missing
  bool was_there() const { return was_there_; }
  // DataLoss for a block that is not what was announced.
  Status Take(uint64_t block, const std::string& bytes);
  // Once nothing is wanted: the file appears under its name, on disk.
  Status Commit();

 private:
  FileReceiver() = default;
  std::set<uint64_t> MissingIn(const std::string& path) const;

  std::string path_;
  int mode_ = 0644;
  format::FileEntry entry_;
  std::set<uint64_t> wanted_;
  bool was_there_ = false;
  std::optional<storage::FileLock> part_;  // under its provisional name
};

}  // namespace espalier::launch
