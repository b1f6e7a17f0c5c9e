// Arrays that are put together piece by piece and need not fit the memory: files without names, mapped, so that the
// kernel writes out and drops what it has no room for.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/descriptor.h"
#include "services/base/tensor.h"

namespace espalier::format {

// Owned by one thread.
class ScratchFile {
 public:
  // In `folder`, which is made where it is not there; nothing is to be seen of the file, and it is gone with its
  // tensor.
  static Result<ScratchFile> Make(const std::string& folder);

  // ResourceExhausted: the disk is full.
  Status Append(std::span<const std::byte> bytes);

  // What has been appended. Internal where that is not the shape's bytes.
  Result<Tensor> Map(DType dtype, std::vector<int64_t> shape) &&;

 private:
  ScratchFile(Descriptor descriptor, std::string where)
      : descriptor_(std::move(descriptor)), where_(std::move(where)) {}

  Descriptor descriptor_;
  std::string where_;  // for messages
  uint64_t size_bytes_ = 0;
};

// Bytes of such a file that may be written in any order.
struct ScratchRegion {
  std::span<std::byte> bytes;         // zeros at first
  std::shared_ptr<const void> owner;  // of the mapping and its file
};
// ResourceExhausted: the disk has no room for it, which is reserved here.
Result<ScratchRegion> MakeScratchRegion(const std::string& folder, uint64_t size_bytes);

}  // namespace espalier::format
