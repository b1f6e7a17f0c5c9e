// Element types of tensors, with the names that safetensors uses (F32, BF16, I64, ...).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/base/status.h"

namespace espalier {

// The numbers are on the wire (espalier/tensor/v1/tensor.proto, TensorHeader.dtype): never renumber.
enum class DType : uint8_t {
  kBool = 1,
  kU8 = 2,
  kI8 = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kF16 = 7,
  kBF16 = 8,
  kF32 = 9,
  kF64 = 10,
  kU16 = 11,
  kU32 = 12,
  kU64 = 13,
};

// Returns the size of one element in bytes.
size_t ItemSize(DType dtype);
// Returns the safetensors name, such as "F32".
const char* ToString(DType dtype);
// Returns the dtype with this safetensors name. InvalidArgument lists the valid names.
Result<DType> DTypeFromName(std::string_view name);
// Returns whether `number`, which may come from the wire, is the value of a DType.
bool IsValidDType(uint8_t number);
// Returns whether the dtype is F16, BF16, F32 or F64.
bool IsFloating(DType dtype);

// Conversions between float and the bit patterns of IEEE binary16 and bfloat16. They round to nearest, ties to even.
float HalfToFloat(uint16_t half_bits);
uint16_t FloatToHalf(float value);
float BFloat16ToFloat(uint16_t bf16_bits);
uint16_t FloatToBFloat16(float value);

// DTypeOf<T>::value is the dtype whose elements are stored as the C++ type T.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::kI16;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::kU16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::kU32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::kU64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};

}  // namespace espalier
