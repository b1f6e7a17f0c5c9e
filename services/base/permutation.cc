#include "services/base/permutation.h"

#include <bit>

#include "services/base/check.h"
#include "services/base/hash.h"

namespace espalier {
namespace {

uint64_t RoundFunction(uint64_t key, int round, uint64_t half) {
  return HashCombine(HashCombine(key, static_cast<uint64_t>(round)), half);
}

}  // namespace

Permutation::Permutation(uint64_t key, uint64_t size) : key_(key), size_(size) {
  const int bits = size <= 2 ? 1 : std::bit_width(size - 1);
  half_bits_ = (bits + 1) / 2;
  half_mask_ = (uint64_t{1} << half_bits_) - 1;
}

uint64_t Permutation::Encrypt(uint64_t value) const {
  uint64_t left = value >> half_bits_, right = value & half_mask_;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (RoundFunction(key_, round, right) & half_mask_);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

uint64_t Permutation::Decrypt(uint64_t value) const {
  uint64_t left = value >> half_bits_, right = value & half_mask_;
  for (int round = kRounds - 1; round >= 0; --round) {
    const uint64_t previous = right ^ (RoundFunction(key_, round, left) & half_mask_);
    right = left;
    left = previous;
  }
  return (left << half_bits_) | right;
}

// The network permutes [0, m), where m is the smallest power of four that is at least 4 and at least size_. Encrypting
// until the value is in [0, size_) therefore takes fewer than 4 steps on average.
uint64_t Permutation::At(uint64_t position) const {
  ESPALIER_CHECK(position < size_);
  uint64_t value = Encrypt(position);
  while (value >= size_) value = Encrypt(value);
  return value;
}

uint64_t Permutation::Position(uint64_t element) const {
  ESPALIER_CHECK(element < size_);
  uint64_t value = Decrypt(element);
  while (value >= size_) value = Decrypt(value);
  return value;
}

}  // namespace espalier
