// Blocks are written to FILE.espalier-part, which is locked during the transfer. Begin compares each block of this file
// with its hash, so a new transfer continues an interrupted one without a record of its progress.
#include "services/runner/launch/file_receiver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <utility>

#include "services/base/descriptor.h"
#include "services/base/make_folder.h"
#include "services/format/files/checksum.h"

namespace espalier::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPartSuffix = ".espalier-part";
constexpr int kPermissionBits = 0777;

std::span<const std::byte> ToBytes(const std::string& text) { return std::as_bytes(std::span(text)); }

uint64_t CountBlocks(uint64_t bytes) {
  return bytes / format::kChecksumBlockBytes + (bytes % format::kChecksumBlockBytes == 0 ? 0 : 1);
}

}  // namespace

Result<FileReceiver> FileReceiver::Begin(const Message& message, std::chrono::nanoseconds patience) {
  FileReceiver receiver;
  receiver.path_ = message.Text("file");
  receiver.mode_ = static_cast<int>(message.Number("mode")) & kPermissionBits;
  receiver.entry_ = {
      .key = receiver.path_, .size_bytes = static_cast<uint64_t>(message.Number("bytes")), .block_hashes = {}};
  for (const nlohmann::json& hash : message.head.value("blocks", nlohmann::json::array())) {
    receiver.entry_.block_hashes.push_back(hash.is_number_unsigned() ? hash.get<uint64_t>() : 0);
  }
  if (!receiver.path_.starts_with('/') ||
      receiver.entry_.block_hashes.size() != CountBlocks(receiver.entry_.size_bytes)) {
    return InvalidArgument("the message `receive` for '" + receiver.path_ + "' has " +
                           std::to_string(receiver.entry_.block_hashes.size()) + " block hashes for " +
                           std::to_string(receiver.entry_.size_bytes) +
                           " bytes: expected an absolute path and one hash for each block of 4 MiB");
  }
  RETURN_IF_ERROR(MakeFolder(fs::path(receiver.path_).parent_path()));
  std::error_code error;
  const uint64_t present = fs::file_size(receiver.path_, error);
  if (!error && present == receiver.entry_.size_bytes) {
    receiver.wanted_ = receiver.FindMissingBlocks(receiver.path_);
    receiver.was_there_ = receiver.wanted_.empty();
    if (receiver.was_there_) return receiver;
  }
  const std::string part = receiver.path_ + kPartSuffix;
  // One transfer writes at a time. A transfer that waited while another one renamed the part file locks a new part file
  // (FileLock::Acquire), so it cannot write to the finished file.
  Result<storage::FileLock> lock =
      storage::FileLock::Acquire(part, storage::LockMode::kExclusive, Deadline::After(patience));
  if (!lock.ok() && lock.status().code() == StatusCode::kDeadlineExceeded) {
    return std::move(lock).status().While("another copy to " + receiver.path_ + " may be running");
  }
  if (!lock.ok()) return std::move(lock).status();
  receiver.wanted_ = receiver.FindMissingBlocks(part);
  receiver.part_.emplace(*std::move(lock));
  if (ftruncate(receiver.part_->descriptor(), static_cast<off_t>(receiver.entry_.size_bytes)) != 0) {
    return FromErrno(errno, "resizing " + part);
  }
  return receiver;
}

std::set<uint64_t> FileReceiver::FindMissingBlocks(const std::string& path) const {
  std::set<uint64_t> missing;
  std::string bytes;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  for (uint64_t block = 0; block < entry_.block_hashes.size(); ++block) {
    const storage::ByteRange range = format::BlockRange(entry_, block);
    bytes.resize(range.length);
    const ssize_t count =
        !file.is_open() ? -1 : pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(range.offset));
    const bool is_good =
        count == static_cast<ssize_t>(bytes.size()) && format::CheckBlock(entry_, block, ToBytes(bytes), path).ok();
    if (!is_good) missing.insert(block);
  }
  return missing;
}

Status FileReceiver::WriteBlock(uint64_t block, const std::string& bytes) {
  if (!wanted_.contains(block))
    return InvalidArgument("block " + std::to_string(block) + " of " + path_ + " is not missing");
  const storage::ByteRange range = format::BlockRange(entry_, block);
  if (bytes.size() != range.length)
    return DataLoss("block " + std::to_string(block) + " of " + path_ + " has " + std::to_string(bytes.size()) +
                    " bytes: expected " + std::to_string(range.length));
  RETURN_IF_ERROR(format::CheckBlock(entry_, block, ToBytes(bytes), path_));
  const ssize_t count = pwrite(part_->descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(range.offset));
  if (count != static_cast<ssize_t>(bytes.size())) return FromErrno(count < 0 ? errno : ENOSPC, "writing " + path_);
  wanted_.erase(block);
  return Status();
}

Status FileReceiver::Commit() {
  if (!wanted_.empty()) return Internal(path_ + " is not complete");
  if (was_there_) {
    return chmod(path_.c_str(), static_cast<mode_t>(mode_)) == 0
               ? Status()
               : FromErrno(errno, "setting the permissions of " + path_);
  }
  const std::string part = path_ + kPartSuffix;
  const int file = part_->descriptor();
  if (fchmod(file, static_cast<mode_t>(mode_)) != 0 || fsync(file) != 0 || rename(part.c_str(), path_.c_str()) != 0) {
    return FromErrno(errno, "syncing " + part + " and renaming it to " + path_);
  }
  return Status();
}

}  // namespace espalier::launch
