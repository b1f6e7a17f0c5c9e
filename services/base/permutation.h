// A pseudo-random permutation of [0, n) that is computed at any position and in both directions without being stored: a
// Feistel network over the smallest even number of bits, at least 2, that holds n - 1, with cycle walking (Black,
// Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). It orders the seed nodes or seed edges of an epoch,
// so that each graph server computes its own seeds of a step and no process holds the whole list. Generators and
// partition algorithms use it too.
#pragma once

#include <cstdint>

namespace espalier {

// Immutable value; thread-safe.
class Permutation {
 public:
  // Creates the permutation of [0, size) that `key` selects. `size` may be 0 or 1.
  Permutation(uint64_t key, uint64_t size);

  uint64_t size() const { return size_; }
  // Returns the element at `position`; both are in [0, size).
  uint64_t At(uint64_t position) const;
  // Returns the position of `element`, the inverse of At: Position(At(i)) == i.
  uint64_t Position(uint64_t element) const;

 private:
  static constexpr int kRounds = 10;
  uint64_t Encrypt(uint64_t value) const;
  uint64_t Decrypt(uint64_t value) const;

  uint64_t key_;
  uint64_t size_;
  int half_bits_;
  uint64_t half_mask_;
};

}  // namespace espalier
