// Philox4x32-10: a counter-based random generator (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011). Random numbers are a pure function of (key, counter), so who draws them, when and
// in which order does not matter: that is what makes distributed runs repeatable.
#pragma once

#include <array>
#include <cstdint>

namespace espalier {

// Four 32-bit words for a 64-bit key and a 128-bit counter (low word, high word).
constexpr std::array<uint32_t, 4> Philox4x32(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  uint32_t c0 = static_cast<uint32_t>(counter_low), c1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_high), c3 = static_cast<uint32_t>(counter_high >> 32);
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

// A number in [0, bound) out of 32 random bits (Lemire 2019, without rejection: the bias is below
// bound / 2^32, and each draw costs a fixed number of words, which keeps counters independent of the values).
constexpr uint32_t BoundedDraw(uint32_t word, uint32_t bound) {
  return static_cast<uint32_t>((uint64_t{word} * bound) >> 32);
}

// [0, 1) with 24 bits.
constexpr float UnitFloat(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
// [0, 1) with 53 bits.
constexpr double UnitDouble(uint32_t high, uint32_t low) {
  return static_cast<double>(((uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
}

// The words of one (key, counter_high) stream in order, four to a block: for code that draws one by one.
class PhiloxStream {
 public:
  PhiloxStream(uint64_t key, uint64_t stream) : key_(key), stream_(stream) {}

  uint32_t Next() {
    if (position_ == 4) {
      words_ = Philox4x32(key_, block_++, stream_);
      position_ = 0;
    }
    return words_[position_++];
  }
  uint32_t NextBelow(uint32_t bound) { return BoundedDraw(Next(), bound); }
  float NextUnitFloat() { return UnitFloat(Next()); }
  double NextUnitDouble() {
    const uint32_t high = Next();
    return UnitDouble(high, Next());
  }

 private:
  uint64_t key_;
  uint64_t stream_;
  uint64_t block_ = 0;
  unsigned position_ = 4;
  std::array<uint32_t, 4> words_{};
};

}  // namespace espalier
