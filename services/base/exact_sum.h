// Sums of doubles that do not depend on the order of the summands: a sum is exact until it is rounded once at the end.
// A reduction over rows therefore gives the same bits for any partitioning.
//
// The accumulator is a long two's complement number in units of 2^-1074, the smallest subnormal. It is split into
// 32-bit limbs stored in 64 bits each, so that carries must be propagated only rarely (R. Neal, "Fast exact summation
// using small and large superaccumulators", 2015, arXiv:1505.05571, after an idea of U. Kulisch).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace espalier {

// Thread-compatible value. Holds sums of up to 2^60 summands.
class ExactSum {
 public:
  // 68 limbs of 32 bits hold a sign, the 2098 bits of finite doubles and 60 bits for carries. One more word records
  // infinities and NaN.
  static constexpr size_t kLimbs = 68;
  static constexpr size_t kWords = kLimbs + 1;

  void Add(double summand);
  void Add(const ExactSum& other);

  // Returns the double nearest to the sum, ties to even; infinity beyond the largest double. Returns NaN if a summand
  // was NaN or if both infinities were added. An empty sum and an exact zero give +0.
  double Rounded() const;

  // Returns the state in the form sent over the wire. Equal sums of finite numbers have equal words.
  std::array<int64_t, kWords> Words() const;
  // Returns the sum with the given state. `words` has kWords elements; any values, such as those from the wire, are
  // valid.
  static ExactSum FromWords(std::span<const int64_t> words);

 private:
  void PropagateCarries();

  std::array<int64_t, kLimbs> limbs_{};  // the least significant first
  int64_t specials_ = 0;                 // flags of the special summands so far: kNan, kPlusInfinity, kMinusInfinity
  uint32_t adds_since_carries_ = 0;
};

}  // namespace espalier
