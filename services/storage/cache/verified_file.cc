#include "services/storage/cache/verified_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "services/storage/object_key.h"

namespace espalier::storage {
namespace {

// Returns the time as "<seconds>.<nanoseconds>", without padding.
std::string SecondsText(const timespec& time) {
  return std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec);
}

// Returns the path of the mark for the current file at `path`. Does not create the mark.
Result<std::string> FormatMarkPath(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return FromErrno(errno, "reading the attributes of " + path);
  const std::filesystem::path file(path);
  const std::string which = std::to_string(about.st_ino) + "-" + std::to_string(about.st_size) + "-" +
                            SecondsText(about.st_mtim) + "-" + SecondsText(about.st_ctim);
  return (file.parent_path() / (std::string(kTemporaryPrefix) + "vouched-" + file.filename().string() + "-" + which))
      .string();
}

}  // namespace

Result<std::optional<HeldMark>> HoldMarkIfHeld(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string mark, FormatMarkPath(path));
  {
    const Result<FileLock> alone = FileLock::TryAcquire(mark, LockMode::kExclusive);
    if (alone.ok()) return std::optional<HeldMark>();
    if (alone.status().code() != StatusCode::kUnavailable) return alone.status();
  }
  // Another caller holds the mark. Even if its holder exits before the next line, the file has been
  // verified, and a file with the same mark is unchanged.
  ASSIGN_OR_RETURN(HeldMark held, FileLock::TryAcquire(mark, LockMode::kShared));
  return std::optional<HeldMark>(std::move(held));
}

Result<HeldMark> HoldMark(const std::string& path, Deadline deadline, const std::function<bool()>& stop_requested) {
  ASSIGN_OR_RETURN(const std::string mark, FormatMarkPath(path));
  return FileLock::Acquire(mark, LockMode::kShared, deadline, stop_requested);
}

}  // namespace espalier::storage
