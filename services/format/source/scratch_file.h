// Builds arrays that may be larger than memory in unnamed, mapped files, whose pages the kernel can evict.
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

// An unnamed file that receives the bytes of one array in order. Thread-compatible.
class ScratchFile {
 public:
  // Creates a file in `folder`, and the folder if it does not exist. The file has no name, and is deleted when this
  // object and the tensor that Map returns are destroyed.
  static Result<ScratchFile> Make(const std::string& folder);

  // Appends bytes. Returns ResourceExhausted if the disk is full.
  Status Append(std::span<const std::byte> bytes);

  // Maps all appended bytes as a tensor, read-only. Returns Internal if their number does not match dtype and shape.
  Result<Tensor> Map(DType dtype, std::vector<int64_t> shape) &&;

 private:
  ScratchFile(Descriptor descriptor, std::string where)
      : descriptor_(std::move(descriptor)), where_(std::move(where)) {}

  Descriptor descriptor_;
  std::string where_;  // the file, for messages
  uint64_t size_bytes_ = 0;
};

// The mapped bytes of an unnamed file, which can be written in any order.
struct ScratchRegion {
  std::span<std::byte> bytes;         // initialized to 0
  std::shared_ptr<const void> owner;  // keeps the mapping and its file alive
};
// Creates an unnamed file of `size_bytes` in `folder` and maps it. Reserves the disk space, and returns
// ResourceExhausted if there is not enough.
Result<ScratchRegion> MakeScratchRegion(const std::string& folder, uint64_t size_bytes);

}  // namespace espalier::format
