// How wide a partition stores ids and offsets: by how many there are.
#pragma once

#include <cstdint>

#include "services/base/dtype.h"

namespace espalier::partition {

constexpr uint64_t kFirst64BitCount = uint64_t{1} << 32;

// The dtype of numbers below `count`.
inline DType WidthFor(uint64_t count) { return count < kFirst64BitCount ? DType::kU32 : DType::kU64; }

}  // namespace espalier::partition
