// Dispatch over the integer types of stored node IDs (U32, I32, I64 or U64), for loops compiled once per type.
#pragma once

#include <span>
#include <type_traits>

#include "services/base/tensor.h"

namespace espalier::partition {

// Calls body(std::span<const T>) with the element type of `ids`, which must be one of the four.
template <class Body>
decltype(auto) VisitIds(const Tensor& ids, Body&& body) {
  switch (ids.dtype()) {
    case DType::kU32: return body(ids.values<uint32_t>());
    case DType::kI32: return body(ids.values<int32_t>());
    case DType::kI64: return body(ids.values<int64_t>());
    default: return body(ids.values<uint64_t>());  // checks that it is U64
  }
}

// Converts a stored ID for comparison with unsigned bounds. A negative number becomes a very large one, so that a
// single `< count` rejects both.
template <class T>
constexpr uint64_t ToId(T stored) {
  return static_cast<uint64_t>(static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(stored));
}

}  // namespace espalier::partition
