// The header of a .npy file as a value: a Python dictionary in text, parsed without Python.
#pragma once

#include <cstddef>
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

// Untrusted bytes: the beginning of the file, or all of it.
Result<NpyHeader> ParseNpyHeader(std::span<const std::byte> file);

// A version 1 header, padded so that the data starts on 64 bytes.
std::string NpyHeaderText(DType dtype, const std::vector<int64_t>& shape);

}  // namespace espalier::format
