// Sums of doubles that do not depend on the order of the summands: every sum is exact until it is rounded, once, at the
// end. That is what lets a reduction over rows give the same bits for any partitioning.
//
// The accumulator is one long two's complement number in units of 2^-1074, the smallest subnormal, cut into limbs of 32
// bits that are kept in 64, so that carries need to be moved only now and then (R. Neal, "Fast exact summation using
// small and large superaccumulators", 2015, arXiv:1505.05571; the idea is U. Kulisch's).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace espalier {

// Thread-compatible value. Holds sums of up to 2^60 summands.
class ExactSum {
 public:
  // 2098 bits for every finite double, 60 for carries, rounded up; and a word for infinities and NaN.
  static constexpr size_t kLimbs = 68;
  static constexpr size_t kWords = kLimbs + 1;

  void Add(double summand);
  void Add(const ExactSum& other);

  // The double nearest to the sum, ties to even; infinite past the largest. NaN where a summand was, or where both
  // infinities were. A sum of nothing, and an exact zero, is +0.
  double Rounded() const;

  // The state, for the wire. Equal sums of finite numbers have equal words.
  std::array<int64_t, kWords> Words() const;
  // Any words are a state: from the wire. `words` has kWords.
  static ExactSum FromWords(std::span<const int64_t> words);

 private:
  void MoveCarries();

  std::array<int64_t, kLimbs> limbs_{};  // the least significant first
  int64_t specials_ = 0;                 // kNan | kPlusInfinity | kMinusInfinity, as seen
  uint32_t adds_since_carries_ = 0;
};

}  // namespace espalier
