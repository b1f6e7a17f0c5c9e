// Writes NumPy's .npy files, version 1.0 (numpy.lib.format).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/files/checksum.h"
#include "services/format/files/file_entry.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// Writes an array of known shape in chunks, so that it does not have to fit into memory. C order, little-endian.
// Thread-compatible. Destruction without Commit leaves no object in the store.
class NpyWriter {
 public:
  // Starts the array at `key`; `store` must outlive this object. Returns InvalidArgument for bfloat16, which NumPy does
  // not have.
  static Result<NpyWriter> Open(storage::ObjectStore& store, const std::string& key, DType dtype,
                                const std::vector<int64_t>& shape);

  // Appends the bytes of elements. Returns InvalidArgument if there are more than the shape allows.
  Status Write(std::span<const std::byte> elements);
  // Commits the object and returns its entry with size and checksums. Returns InvalidArgument, without committing, if
  // elements are missing.
  Result<FileEntry> Commit();

 private:
  NpyWriter(std::string key, std::unique_ptr<HashingWriter> writer, uint64_t bytes_missing)
      : key_(std::move(key)), writer_(std::move(writer)), bytes_missing_(bytes_missing) {}

  std::string key_;
  std::unique_ptr<HashingWriter> writer_;
  uint64_t bytes_missing_;
};

// Writes a tensor to `key`. Returns its entry with size and checksums.
Result<FileEntry> WriteNpy(storage::ObjectStore& store, const std::string& key, const Tensor& tensor);

}  // namespace espalier::format
