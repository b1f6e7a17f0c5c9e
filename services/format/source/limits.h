// Limits for sources. Readers reject a larger count and a longer line, because they indicate a damaged file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace espalier::format {

inline constexpr uint64_t kMaxCount = uint64_t{1} << 40;  // nodes or edges of a type
inline constexpr size_t kMaxLineBytes = size_t{64} << 20;

}  // namespace espalier::format
