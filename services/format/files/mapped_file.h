// Maps a local file into memory, read-only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "services/base/status.h"

namespace espalier::format {

// Immutable; thread-safe. Pages are read from the file on first access. If another process truncates the file while it
// is mapped, an access beyond its new end raises SIGBUS. Map only files that are replaced, never modified in place.
class MappedFile {
 public:
  // Maps the file at `path`. Returns DataLoss if `expected_size_bytes` is given and the file has another size, and
  // InvalidArgument if it is not a regular file.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path,
                                                        std::optional<uint64_t> expected_size_bytes = std::nullopt);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  const std::span<const std::byte> bytes_;  // page-aligned
};

}  // namespace espalier::format
