// A file in the address space, read-only, for as long as somebody refers to it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "services/base/status.h"

namespace espalier::format {

// Immutable; thread-safe. Whoever shortens the file while it is mapped ends this process (SIGBUS).
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace espalier::format
