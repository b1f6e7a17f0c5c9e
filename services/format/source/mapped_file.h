// Maps a file into memory, read-only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "services/base/status.h"

namespace espalier::format {

// Immutable; thread-safe. If the file is truncated while it is mapped, an access beyond its new end raises SIGBUS.
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
