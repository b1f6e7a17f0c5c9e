// The input of a fuzzer as an in-memory file (tmpfs), for readers that take a path.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/check.h"
#include "services/base/descriptor.h"

namespace espalier::fuzz {

// An in-memory file with a copy of the `size` bytes at `data`, for the lifetime of this object. Owned by one thread.
class InputFile {
 public:
  InputFile(const uint8_t* data, size_t size) : file_(memfd_create("fuzz-input", MFD_CLOEXEC)) {
    ESPALIER_CHECK(file_.is_open());
    for (size_t written = 0; written < size;) {
      const ssize_t count = write(file_.get(), data + written, size - written);
      ESPALIER_CHECK(count > 0);
      written += static_cast<size_t>(count);
    }
    path_ = "/proc/self/fd/" + std::to_string(file_.get());
  }

  // Returns the path of the file; each open() of it starts at the beginning of the file.
  const std::string& path() const { return path_; }

 private:
  const Descriptor file_;
  std::string path_;
};

}  // namespace espalier::fuzz
