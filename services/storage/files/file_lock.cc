#include "services/storage/files/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "services/storage/files/open_file_name.h"

namespace espalier::storage {
namespace {

// Acquire polls, because flock has no timeout.
constexpr auto kPollInterval = std::chrono::milliseconds(5);

}  // namespace

Result<FileLock> FileLock::TryAcquire(const std::string& path, LockMode mode) {
  FileLock lock(Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)));
  if (!lock.file_.is_open()) return FromErrno(errno, "opening " + path);
  const int operation = (mode == LockMode::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  while (flock(lock.file_.get(), operation) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return Unavailable(path + " is locked by another process or thread");
    return FromErrno(errno, "locking " + path);
  }
  // A lock on a file that no longer has this path does not exclude processes that open the path later.
  if (!NamesOpenFile(path, lock.file_.get()))
    return Unavailable(path + " was unlinked or replaced while it was being locked");
  return lock;
}

Result<FileLock> FileLock::Acquire(const std::string& path, LockMode mode, Deadline deadline,
                                   const std::function<bool()>& stop_requested) {
  while (true) {
    Result<FileLock> lock = TryAcquire(path, mode);
    if (lock.ok() || lock.status().code() != StatusCode::kUnavailable) return lock;
    if (stop_requested && stop_requested()) return Cancelled("stopped while waiting for the lock on " + path);
    if (deadline.HasPassed()) return DeadlineExceeded("waiting for the lock on " + path);
    Clock::Real().SleepFor(kPollInterval);
  }
}

}  // namespace espalier::storage
