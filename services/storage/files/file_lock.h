// Advisory locks on files (flock) between processes. The kernel releases the locks of a process that dies.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "services/base/clock.h"
#include "services/base/descriptor.h"
#include "services/base/status.h"

namespace espalier::storage {

enum class LockMode { kShared, kExclusive };

// A lock that is held until the object is destroyed. Locks conflict within a process as they do between processes:
// shared locks coexist, an exclusive lock excludes all others. Not thread-safe.
class FileLock {
 public:
  // Acquires the lock; blocks while a conflicting lock is held. Creates the file (mode 0600) if it is missing; its
  // folder must exist. When the lock is acquired, `path` names the locked file, even if other processes unlinked and
  // recreated it during the wait. Errors name the path: NotFound (no folder), DeadlineExceeded, Cancelled
  // (stop_requested, unless null, returned true).
  static Result<FileLock> Acquire(const std::string& path, LockMode mode, Deadline deadline,
                                  const std::function<bool()>& stop_requested = nullptr);
  // Like Acquire, but does not wait: returns Unavailable if a conflicting lock is held, or if the file was unlinked or
  // replaced during the call.
  static Result<FileLock> TryAcquire(const std::string& path, LockMode mode);

  // Returns the file's descriptor, open for reading and writing and owned by this object.
  int descriptor() const { return file_.get(); }

 private:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace espalier::storage
