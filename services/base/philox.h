// Philox4x32-10: a counter-based random generator (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1,
// 2, 3", SC 2011). A random number is a pure function of (key, counter). It does not depend on the process, the time or
// the order of drawing, which makes distributed runs repeatable.
#pragma once

#include <array>
#include <cstdint>

namespace espalier {

// Returns four random 32-bit words for a 64-bit key and a 128-bit counter, given as its low and high halves.
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

// Returns a number in [0, bound) computed from 32 random bits (Lemire 2019, without rejection). The bias is below
// bound / 2^32. Each draw uses a fixed number of words, so counters do not depend on the values drawn.
constexpr uint32_t BoundedDraw(uint32_t word, uint32_t bound) {
  return static_cast<uint32_t>((uint64_t{word} * bound) >> 32);
}

// Returns a number in [0, 1) with 24 random bits.
constexpr float UnitFloat(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
// Returns a number in [0, 1) with 53 random bits.
constexpr double UnitDouble(uint32_t high, uint32_t low) {
  return static_cast<double>(((uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
}

// Returns the words of one stream in order, for code that draws one word at a time: those of Philox4x32(key, 0,
// stream), then those of Philox4x32(key, 1, stream), and so on. Not thread-safe.
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
  // Return the next number, in [0, bound) or [0, 1).
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
