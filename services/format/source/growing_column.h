// Builds a column whose length is not known in advance: in memory, or, with a scratch folder, in a file that is mapped
// at the end, so that memory holds only the values of one Append.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/source/scratch_file.h"

namespace espalier::format {

// Thread-compatible.
template <class T>
class GrowingColumn {
 public:
  // An empty `scratch_folder` means memory.
  explicit GrowingColumn(std::string scratch_folder) : scratch_folder_(std::move(scratch_folder)) {}

  // Appends values. Returns errors of ScratchFile; never fails in memory.
  Status Append(std::vector<T> values) {
    size_ += values.size();
    if (scratch_folder_.empty()) {
      if (held_.empty()) {
        held_ = std::move(values);
      } else {
        held_.insert(held_.end(), values.begin(), values.end());
      }
      return {};
    }
    if (!file_) {
      ASSIGN_OR_RETURN(ScratchFile file, ScratchFile::Make(scratch_folder_));
      file_.emplace(std::move(file));
    }
    return file_->Append(std::as_bytes(std::span(values)));
  }

  uint64_t size() const { return size_; }  // number of elements

  // Returns all appended values as a tensor. `shape` must have size() elements.
  Result<Tensor> Finish(std::vector<int64_t> shape) && {
    if (file_) return std::move(*file_).Map(DTypeOf<T>::value, std::move(shape));
    return Tensor::FromVector(std::move(held_), std::move(shape));
  }
  // Returns all appended values as a tensor [size()].
  Result<Tensor> Finish() && {
    const auto count = static_cast<int64_t>(size_);
    return std::move(*this).Finish({count});
  }

 private:
  std::string scratch_folder_;
  std::vector<T> held_;
  std::optional<ScratchFile> file_;  // created by the first Append
  uint64_t size_ = 0;
};

}  // namespace espalier::format
