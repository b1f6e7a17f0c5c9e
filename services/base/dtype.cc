#include "services/base/dtype.h"

#include <array>
#include <bit>
#include <string>
#include <utility>

namespace espalier {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 13> kNames = {{
    {DType::kBool, "BOOL"},
    {DType::kU8, "U8"},
    {DType::kI8, "I8"},
    {DType::kI16, "I16"},
    {DType::kI32, "I32"},
    {DType::kI64, "I64"},
    {DType::kF16, "F16"},
    {DType::kBF16, "BF16"},
    {DType::kF32, "F32"},
    {DType::kF64, "F64"},
    {DType::kU16, "U16"},
    {DType::kU32, "U32"},
    {DType::kU64, "U64"},
}};

}  // namespace

size_t ItemSize(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
    case DType::kI8: return 1;
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return 2;
    case DType::kI32:
    case DType::kU32:
    case DType::kF32: return 4;
    case DType::kI64:
    case DType::kU64:
    case DType::kF64: return 8;
  }
  ESPALIER_CHECK(false) << "dtype " << static_cast<int>(dtype);
  return 0;
}

const char* ToString(DType dtype) {
  for (const auto& [candidate, name] : kNames) {
    if (candidate == dtype) return name.data();
  }
  ESPALIER_CHECK(false) << "dtype " << static_cast<int>(dtype);
  return "";
}

Result<DType> DTypeFromName(std::string_view name) {
  for (const auto& [dtype, candidate] : kNames) {
    if (candidate == name) return dtype;
  }
  return InvalidArgument(
      "'" + std::string(name) +
      "' is not an element type; expected one of BOOL U8 I8 I16 U16 I32 U32 I64 U64 F16 BF16 F32 F64");
}

bool IsValidDType(uint8_t number) {
  for (const auto& [dtype, name] : kNames) {
    if (static_cast<uint8_t>(dtype) == number) return true;
  }
  return false;
}

bool IsFloating(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 || dtype == DType::kF64;
}

float HalfToFloat(uint16_t half_bits) {
  const uint32_t sign = static_cast<uint32_t>(half_bits & 0x8000u) << 16;
  const uint32_t exponent = (half_bits >> 10) & 0x1Fu;
  const uint32_t mantissa = half_bits & 0x3FFu;
  if (exponent == 0x1Fu) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero and subnormals: mantissa * 2^-24 is exact in binary32.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | 0x7E00u;   // NaN
  if (magnitude >= 0x477FF000u) return sign | 0x7C00u;  // rounds to 65536 or more: infinity
  if (magnitude < 0x38800000u) {                        // below 2^-14: a subnormal or zero
    // In [0.5, 1), binary32 has the precision of a binary16 subnormal, 2^-24. So the addition rounds to it, ties to
    // even.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(aligned) - 0x3F000000u);
  }
  const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
  return sign | static_cast<uint16_t>((rounded - 0x38000000u) >> 13);
}

float BFloat16ToFloat(uint16_t bf16_bits) { return std::bit_cast<float>(static_cast<uint32_t>(bf16_bits) << 16); }

uint16_t FloatToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);  // NaN stays NaN
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace espalier
