// A lock that processes share through a file (flock): the kernel gives it back when its holder dies.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "services/base/clock.h"
#include "services/base/descriptor.h"
#include "services/base/status.h"

namespace espalier::storage {

enum class LockMode { kShared, kExclusive };

// Held from Acquire to destruction. One thread at a time; two locks of one process exclude each other like those of
// two processes.
class FileLock {
 public:
  // Makes the file (0600; its folder exists) where it is missing. The file locked is the one that has the name
  // afterwards, whoever unlinks and makes it meanwhile. NotFound: the folder is gone. DeadlineExceeded names the path,
  // and so does Cancelled, once stop_requested (null: never) says true.
  static Result<FileLock> Acquire(const std::string& path, LockMode mode, Deadline deadline,
                                  const std::function<bool()>& stop_requested = nullptr);
  // The same without waiting: Unavailable where somebody else holds it.
  static Result<FileLock> TryAcquire(const std::string& path, LockMode mode);

  // Open for reading and writing; this object's.
  int descriptor() const { return file_.get(); }

 private:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace espalier::storage
