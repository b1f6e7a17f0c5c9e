// Add shifts the 53-bit mantissa of a summand to its position and adds it to three adjacent limbs. PropagateCarries
// brings the limbs back to 32 bits each. Rounded takes the 53 highest bits of the sum's absolute value and rounds by
// the bits below them.
#include "services/base/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace espalier {
namespace {

__extension__ using Int128 = __int128;

constexpr int64_t kNan = 1, kPlusInfinity = 2, kMinusInfinity = 4;
constexpr int kLimbBits = 32;
constexpr int64_t kLimbMask = 0xffffffff;
constexpr int kMantissaBits = 53;
constexpr int kUnitExponent = -1074;  // of the lowest bit of the lowest limb
// One addition changes a limb by less than 2^32, and a limb overflows at 2^63, so carries are propagated in time.
constexpr uint32_t kAddsBeforeCarries = uint32_t{1} << 30;

}  // namespace

void ExactSum::Add(double summand) {
  const uint64_t bits = std::bit_cast<uint64_t>(summand);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const bool negative = bits >> 63 != 0;
  uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff) {
    specials_ |= mantissa != 0 ? kNan : negative ? kMinusInfinity : kPlusInfinity;
    return;
  }
  if (exponent != 0) mantissa |= uint64_t{1} << 52;
  const int position = std::max(exponent, 1) - 1;  // of the mantissa's lowest bit
  const size_t limb = static_cast<size_t>(position / kLimbBits);
  const Int128 shifted = static_cast<Int128>(mantissa) << (position % kLimbBits);
  const int64_t low = static_cast<int64_t>(shifted) & kLimbMask;
  const int64_t middle = static_cast<int64_t>(shifted >> kLimbBits) & kLimbMask;
  const int64_t high = static_cast<int64_t>(shifted >> (2 * kLimbBits));
  limbs_[limb] += negative ? -low : low;
  limbs_[limb + 1] += negative ? -middle : middle;
  limbs_[limb + 2] += negative ? -high : high;
  if (++adds_since_carries_ == kAddsBeforeCarries) PropagateCarries();
}

void ExactSum::Add(const ExactSum& other) {
  ExactSum carried = other;
  carried.PropagateCarries();
  PropagateCarries();
  // Added as unsigned numbers, which may overflow: limbs from the wire may hold any value.
  for (size_t i = 0; i < kLimbs; ++i) {
    limbs_[i] = static_cast<int64_t>(static_cast<uint64_t>(limbs_[i]) + static_cast<uint64_t>(carried.limbs_[i]));
  }
  specials_ |= carried.specials_;
  PropagateCarries();
}

// Afterwards every limb except the highest is in [0, 2^32).
void ExactSum::PropagateCarries() {
  Int128 carry = 0;
  for (size_t i = 0; i + 1 < kLimbs; ++i) {
    const Int128 sum = limbs_[i] + carry;
    limbs_[i] = static_cast<int64_t>(sum & kLimbMask);
    carry = sum >> kLimbBits;
  }
  limbs_.back() = static_cast<int64_t>(limbs_.back() + carry);
  adds_since_carries_ = 0;
}

double ExactSum::Rounded() const {
  const bool both_infinities = (specials_ & kPlusInfinity) != 0 && (specials_ & kMinusInfinity) != 0;
  if ((specials_ & kNan) != 0 || both_infinities) return std::numeric_limits<double>::quiet_NaN();
  if ((specials_ & kPlusInfinity) != 0) return std::numeric_limits<double>::infinity();
  if ((specials_ & kMinusInfinity) != 0) return -std::numeric_limits<double>::infinity();

  ExactSum magnitude = *this;
  magnitude.PropagateCarries();
  const bool negative = magnitude.limbs_.back() < 0;
  if (negative) {
    for (int64_t& limb : magnitude.limbs_) limb = static_cast<int64_t>(-static_cast<uint64_t>(limb));
    magnitude.PropagateCarries();
  }
  const auto bit_at = [&](int bit) {
    return magnitude.limbs_[static_cast<size_t>(bit / kLimbBits)] >> (bit % kLimbBits) & 1;
  };
  int top_limb = static_cast<int>(kLimbs) - 1;
  while (top_limb >= 0 && magnitude.limbs_[static_cast<size_t>(top_limb)] == 0) --top_limb;
  if (top_limb < 0) return 0.0;
  const uint64_t top = static_cast<uint64_t>(magnitude.limbs_[static_cast<size_t>(top_limb)]);
  const int highest = top_limb * kLimbBits + std::bit_width(top) - 1;
  // Only limbs from the wire can be this large; sums of finite doubles are smaller.
  if (std::bit_width(top) > kLimbBits) {
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }

  const int lowest = std::max(0, highest - kMantissaBits + 1);
  uint64_t mantissa = 0;
  for (int bit = highest; bit >= lowest; --bit) mantissa = mantissa << 1 | static_cast<uint64_t>(bit_at(bit));
  if (lowest > 0 && bit_at(lowest - 1) != 0) {  // at least half a unit in the last place
    bool exceeds_half = false;
    for (int bit = lowest - 2; bit >= 0 && !exceeds_half; --bit) exceeds_half = bit_at(bit) != 0;
    if (exceeds_half || (mantissa & 1) != 0) ++mantissa;
  }
  const double rounded = std::ldexp(static_cast<double>(mantissa), lowest + kUnitExponent);
  return negative ? -rounded : rounded;
}

std::array<int64_t, ExactSum::kWords> ExactSum::Words() const {
  ExactSum carried = *this;
  carried.PropagateCarries();
  std::array<int64_t, kWords> words{};
  std::copy(carried.limbs_.begin(), carried.limbs_.end(), words.begin());
  words.back() = specials_;
  return words;
}

ExactSum ExactSum::FromWords(std::span<const int64_t> words) {
  ExactSum sum;
  std::copy_n(words.begin(), kLimbs, sum.limbs_.begin());
  sum.specials_ = words[kLimbs];
  sum.PropagateCarries();
  return sum;
}

}  // namespace espalier
