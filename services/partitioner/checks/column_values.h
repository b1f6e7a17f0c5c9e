// Access to the elements of a column, for checks of a source's values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/base/tensor.h"

namespace espalier::partitioner {

// Calls use(value_at), where value_at(i) returns element i as a double, and returns the result of `use`. 64-bit
// integers are rounded to double, which preserves their sign and order of magnitude.
template <class Use>
auto WithElements(const Tensor& tensor, const Use& use) {
  const auto typed = [&]<class T>(T) {
    const std::span<const T> values = tensor.values<T>();
    return use([values](int64_t i) { return static_cast<double>(values[static_cast<size_t>(i)]); });
  };
  switch (tensor.dtype()) {
    case DType::kU8: return typed(uint8_t{});
    case DType::kI8: return typed(int8_t{});
    case DType::kI16: return typed(int16_t{});
    case DType::kI32: return typed(int32_t{});
    case DType::kI64: return typed(int64_t{});
    case DType::kU16: return typed(uint16_t{});
    case DType::kU32: return typed(uint32_t{});
    case DType::kU64: return typed(uint64_t{});
    case DType::kF32: return typed(float{});
    case DType::kF64: return typed(double{});
    // No typed access: the bytes of a BOOL column are not validated yet, and C++ has no type for F16 and BF16.
    case DType::kBool:
    case DType::kF16:
    case DType::kBF16: break;
  }
  return use([&tensor](int64_t i) { return tensor.ValueAsDouble(i); });
}

// Returns the text of an element: exact for integers; for floating point, the shortest text that reads back as the same
// number of the column's dtype, or "NaN", "infinity" or "-infinity".
std::string ElementText(const Tensor& column, int64_t element);

// Returns the index of the first element that cannot be the weight of an edge (negative, NaN or infinite), or nullopt.
std::optional<int64_t> FindBadWeight(const Tensor& column, int threads);
// Returns the index of the first finite element of an F64 column that is infinite as F32, or nullopt. Returns nullopt
// for columns of other dtypes.
std::optional<int64_t> FindBadFeature(const Tensor& column, int threads);
// Returns the index of the first element of a U64 column that is 2^63 or more, or nullopt. Returns nullopt for columns
// of other dtypes.
std::optional<int64_t> FindBadTime(const Tensor& column, int threads);
// Returns whether any element is greater than 0.
bool HasPositive(const Tensor& column, int threads);

}  // namespace espalier::partitioner
