// Reads NumPy's .npz files: zip archives (including zip64) of .npy members, as written by numpy.savez and
// numpy.savez_compressed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/tensor.h"

namespace espalier::format {

// Thread-compatible. Holds no open file between calls.
class NpzFile {
 public:
  // Reads the directory of the archive. Returns InvalidArgument if the file is not a zip archive, if a member is
  // encrypted, occurs twice or is not named "<name>.npy" (without '/'), and for more than 100,000 members.
  static Result<NpzFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::vector<std::string> Names() const;  // names of the members without ".npy", sorted
  bool Has(const std::string& name) const { return size_bytes_.contains(name); }

  // Decompresses a member into memory, or, with a `scratch_folder`, into a mapped file there. For `declared` see
  // ReadNpy. Returns NotFound if there is no such member (the message lists the members); InvalidArgument in the cases
  // of ReadNpy, and if the size according to the .npy header differs from that in the directory of the archive, or
  // exceeds what a zip file of this size can hold; DataLoss for a truncated member or a wrong checksum.
  Result<Tensor> Read(const std::string& name, std::optional<DType> declared = std::nullopt,
                      const std::string& scratch_folder = "") const;

 private:
  std::string path_;
  uint64_t file_bytes_ = 0;
  std::map<std::string, uint64_t> size_bytes_;  // uncompressed size of each member, from the directory of the archive
};

}  // namespace espalier::format
