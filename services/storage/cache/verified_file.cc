#include "services/storage/cache/verified_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "services/storage/object_key.h"

namespace espalier::storage {
namespace {

// Returns the time as "<seconds>.<nanoseconds>", without padding.
std::string FormatSeconds(const timespec& time) {
  return std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec);
}

// Returns the path of the mark for the current file at `path`. Does not create the mark.
Result<std::string> FormatMarkPath(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return FromErrno(errno, "reading the attributes of " + path);
  const std::filesystem::path file(path);
  const std::string identity = std::to_string(about.st_ino) + "-" + std::to_string(about.st_size) + "-" +
                               FormatSeconds(about.st_mtim) + "-" + FormatSeconds(about.st_ctim);
  return (file.parent_path() / (std::string(kTemporaryPrefix) + "vouched-" + file.filename().string() + "-" + identity))
      .string();
}

}  // namespace

Result<std::optional<HeldMark>> ShareHeldMark(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string mark, FormatMarkPath(path));
  {
    const Result<FileLock> exclusive = FileLock::TryAcquire(mark, LockMode::kExclusive);
    if (exclusive.ok()) return std::optional<HeldMark>();
    if (exclusive.status().code() != StatusCode::kUnavailable) return exclusive.status();
  }
  // Another caller holds the mark. Even if it releases the mark before the next line, the file is verified, because a
  // file with the same mark is unchanged.
  ASSIGN_OR_RETURN(HeldMark held, FileLock::TryAcquire(mark, LockMode::kShared));
  return std::optional<HeldMark>(std::move(held));
}

Result<HeldMark> HoldMark(const std::string& path, Deadline deadline, const std::function<bool()>& stop_requested) {
  ASSIGN_OR_RETURN(const std::string mark, FormatMarkPath(path));
  return FileLock::Acquire(mark, LockMode::kShared, deadline, stop_requested);
}

}  // namespace espalier::storage
