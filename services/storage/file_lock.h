// A lock between processes on a file (flock). The kernel releases it when its holder dies.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "services/base/clock.h"
#include "services/base/descriptor.h"
#include "services/base/status.h"

namespace espalier::storage {

enum class LockMode { kShared, kExclusive };

// A lock held from Acquire to destruction. Two locks in one process exclude each other like those of two processes. Not
// thread-safe.
class FileLock {
 public:
  // Acquires the lock; blocks while another holder has it. Creates the file (mode 0600) if it is missing; its folder
  // must exist. The locked file is the one that has the name on return, even if other processes unlink and create it
  // meanwhile. Errors: NotFound (no folder), DeadlineExceeded and Cancelled (stop_requested, unless null, returned
  // true), which name the path.
  static Result<FileLock> Acquire(const std::string& path, LockMode mode, Deadline deadline,
                                  const std::function<bool()>& stop_requested = nullptr);
  // Like Acquire, but does not wait: returns Unavailable if the lock is held.
  static Result<FileLock> TryAcquire(const std::string& path, LockMode mode);

  // Returns the file's descriptor, open for reading and writing and owned by this object.
  int descriptor() const { return file_.get(); }

 private:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace espalier::storage
