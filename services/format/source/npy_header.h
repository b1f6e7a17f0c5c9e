// The header of a .npy file as a value: a Python dictionary in text, parsed without Python.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/base/dtype.h"
#include "services/base/status.h"

namespace espalier::format {

struct NpyHeader {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  size_t data_offset = 0;
};

// As many bytes of a file's beginning as NpyDataOffset needs.
inline constexpr size_t kNpyLongestPrefix = 12;

// Where the data starts, from the first bytes of a file (kNpyLongestPrefix, or the whole file if it has fewer): at most
// a little over 2^20.
Result<size_t> NpyDataOffset(std::span<const std::byte> beginning);

// Untrusted bytes: the beginning of the file, or all of it.
Result<NpyHeader> ParseNpyHeader(std::span<const std::byte> file);

// NumPy has no bfloat16: `declared` = BF16 takes '<u2' for it; any other declared dtype must be the header's.
Status ApplyDeclaredDType(std::optional<DType> declared, NpyHeader* header);

// A version 1 header, padded so that the data starts on 64 bytes.
std::string NpyHeaderText(DType dtype, const std::vector<int64_t>& shape);

}  // namespace espalier::format
