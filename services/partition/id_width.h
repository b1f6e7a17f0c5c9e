// The width of IDs and offsets in a partition, which depends on the number of nodes or edges.
#pragma once

#include <cstdint>

#include "services/base/dtype.h"

namespace espalier::partition {

constexpr uint64_t kFirst64BitCount = uint64_t{1} << 32;

// Returns the dtype for numbers up to `count`: U32 if `count` is below 2^32, otherwise U64.
inline DType WidthFor(uint64_t count) { return count < kFirst64BitCount ? DType::kU32 : DType::kU64; }

}  // namespace espalier::partition
