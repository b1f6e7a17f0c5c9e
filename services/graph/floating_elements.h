// Access to the elements of a floating column as double for all floating dtypes, for the conversions of features.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/base/dtype.h"

namespace espalier::graph::floating {

// The element types. Load converts a stored element to double, Store converts it back, with rounding.
struct F64 {
  using Stored = double;
  static double Load(double value) { return value; }
  static double Store(double value) { return value; }
};
struct F32 {
  using Stored = float;
  static double Load(float value) { return static_cast<double>(value); }
  static float Store(double value) { return static_cast<float>(value); }
};
struct F16 {
  using Stored = uint16_t;
  static double Load(uint16_t bits) { return static_cast<double>(HalfToFloat(bits)); }
  static uint16_t Store(double value) { return FloatToHalf(static_cast<float>(value)); }
};
struct BF16 {
  using Stored = uint16_t;
  static double Load(uint16_t bits) { return static_cast<double>(BFloat16ToFloat(bits)); }
  static uint16_t Store(double value) { return FloatToBFloat16(static_cast<float>(value)); }
};

// Calls visit(Element{}) with the element type for `dtype`, which must be floating, and returns its result.
template <class Visit>
auto VisitFloating(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kF64: return visit(F64{});
    case DType::kF16: return visit(F16{});
    case DType::kBF16: return visit(BF16{});
    default: return visit(F32{});
  }
}

// Returns the number by which normalization divides a row: the sum of its `width` elements, added from left to right,
// or 1 if the sum is 0.
template <class Element>
double RowDivisor(const typename Element::Stored* row, size_t width) {
  double sum = 0;
  for (size_t j = 0; j < width; ++j) sum += Element::Load(row[j]);
  return sum != 0 ? sum : 1;
}

}  // namespace espalier::graph::floating
