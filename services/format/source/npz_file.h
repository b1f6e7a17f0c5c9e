// NumPy's .npz files: zip archives of .npy members, as numpy.savez and numpy.savez_compressed write them (zip64 too).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/tensor.h"

namespace espalier::format {

// Thread-compatible; holds no open file between calls.
class NpzFile {
 public:
  // Reads the directory of the archive. InvalidArgument: no zip; a member that is encrypted, named twice, or not named
  // "<name>.npy" with a plain name (no '/'); more than 100,000 members.
  static Result<NpzFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::vector<std::string> Names() const;  // without ".npy", sorted
  bool Has(const std::string& name) const { return size_bytes_.contains(name); }

  // Inflates a member into memory of its own, or, with a `scratch_folder`, into a file there that is mapped; refuses
  // what ReadNpy refuses, and a header that promises more than the archive says or a zip file of this size can hold.
  // NotFound names the members that there are. DataLoss: truncated, or a checksum that is wrong. `declared` as in
  // ReadNpy.
  Result<Tensor> Read(const std::string& name, std::optional<DType> declared = std::nullopt,
                      const std::string& scratch_folder = "") const;

 private:
  std::string path_;
  uint64_t file_bytes_ = 0;
  std::map<std::string, uint64_t> size_bytes_;  // of each member, inflated, as the archive says
};

}  // namespace espalier::format
