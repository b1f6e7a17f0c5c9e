// ID columns have the dtype U32, I32, I64 or U64. VisitIds lets one generic loop handle all four.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "services/base/tensor.h"

namespace espalier::graph {

inline bool IsIdDType(DType dtype) {
  return dtype == DType::kU32 || dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU64;
}

// Calls visit(std::span<const T>) with the values of an id tensor (IsIdDType, checked) and returns its result.
template <class Visitor>
auto VisitIds(const Tensor& ids, Visitor&& visit) {
  switch (ids.dtype()) {
    case DType::kU32: return visit(ids.values<uint32_t>());
    case DType::kI32: return visit(ids.values<int32_t>());
    case DType::kI64: return visit(ids.values<int64_t>());
    default: return visit(ids.values<uint64_t>());  // checks the dtype
  }
}

// Converts a stored ID for comparison with unsigned bounds. A negative ID becomes a very large number, so that a single
// `< count` rejects negative IDs as well as IDs that are too large.
template <class T>
constexpr uint64_t ToId(T stored) {
  return static_cast<uint64_t>(static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(stored));
}

// Returns the part of an error message that says which ids are valid: "expected 0 to 2" for `count` 3.
inline std::string DescribeIdRange(uint64_t count) {
  return count == 0 ? "no id is valid, because there are no nodes of this type"
                    : "expected 0 to " + std::to_string(count - 1);
}

}  // namespace espalier::graph
