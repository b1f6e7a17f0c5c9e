// Parses and formats the header of .npy files (numpy.lib.format), the text of a Python dictionary.
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
  size_t data_offset = 0;  // bytes before the data
};

// The number of bytes at the beginning of a file that NpyDataOffset needs.
inline constexpr size_t kNpyLongestPrefix = 12;

// Returns the offset of the data in a file, at most 2^20 + 12. `beginning` has the first kNpyLongestPrefix bytes of the
// file or more, or the whole file if it is shorter. Returns InvalidArgument if it is not a .npy file or its header is
// longer than 2^20 bytes.
Result<size_t> NpyDataOffset(std::span<const std::byte> beginning);

// Parses the untrusted header of a file. `file` has at least all bytes before the data. Returns InvalidArgument if the
// header is invalid, the dtype is not supported, or the array is in Fortran order.
Result<NpyHeader> ParseNpyHeader(std::span<const std::byte> file);

// Returns InvalidArgument if the header has another dtype than `declared`; accepts any dtype if `declared` is nullopt.
// NumPy has no bfloat16, so BF16 may be declared for a header with U16; the header's dtype is then changed to BF16.
Status ApplyDeclaredDType(std::optional<DType> declared, NpyHeader* header);

// Returns a version 1.0 header for C order, padded so that the data starts at a multiple of 64 bytes. BF16 is written
// as '<u2'. Returns InvalidArgument if the dictionary is longer than 2^16 - 1 bytes.
Result<std::string> FormatNpyHeader(DType dtype, const std::vector<int64_t>& shape);

}  // namespace espalier::format
