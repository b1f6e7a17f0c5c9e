// NumPy's .npy files, version 1.0: what users open their results with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/checksum.h"
#include "services/format/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// An array of known shape that is put piece by piece, so that it need not fit memory. C order, little-endian. One
// thread at a time; destroyed without Commit it leaves nothing behind.
class NpyWriter {
 public:
  // `store` outlives this. InvalidArgument for bfloat16, which NumPy does not have.
  static Result<NpyWriter> Open(storage::ObjectStore& store, const std::string& key, DType dtype,
                                const std::vector<int64_t>& shape);

  // The next elements. InvalidArgument where there are more than the shape has room for.
  Status Write(std::span<const std::byte> elements);
  // The object's size and checksums. InvalidArgument where elements are missing: then nothing is visible.
  Result<FileEntry> Commit();

 private:
  NpyWriter(std::string key, std::unique_ptr<HashingWriter> writer, uint64_t bytes_missing)
      : key_(std::move(key)), writer_(std::move(writer)), bytes_missing_(bytes_missing) {}

  std::string key_;
  std::unique_ptr<HashingWriter> writer_;
  uint64_t bytes_missing_;
};

// Puts the tensor under `key`. Its size and checksums come back.
Result<FileEntry> WriteNpy(storage::ObjectStore& store, const std::string& key, const Tensor& tensor);

}  // namespace espalier::format
