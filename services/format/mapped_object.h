// An object that is a local file, as memory, read-only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "services/base/status.h"

namespace espalier::format {

// Immutable; thread-safe. Pages come from the file on first touch: should another process cut the file short
// meanwhile, touching what is gone ends this process (SIGBUS), so map only files that are replaced, never rewritten.
class MappedObject {
 public:
  // DataLoss where the file's size is not expected_size_bytes (where given): nothing is mapped then.
  static Result<std::shared_ptr<const MappedObject>> Open(const std::string& path,
                                                          std::optional<uint64_t> expected_size_bytes);
  ~MappedObject();
  MappedObject(const MappedObject&) = delete;
  MappedObject& operator=(const MappedObject&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedObject(std::span<const std::byte> bytes) : bytes_(bytes) {}

  const std::span<const std::byte> bytes_;  // page-aligned
};

}  // namespace espalier::format
