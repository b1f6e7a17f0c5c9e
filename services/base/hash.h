// Hash functions for checksums and for keys of random streams; the results of a run depend on their values. XXH3 is
// fast, seeded and has a published specification (github.com/Cyan4973/xxHash), but it is not cryptographic. Where an
// attacker could profit from a collision, use SHA-256 (sha256.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace espalier {

// Return the XXH3 hash.
uint64_t Hash64(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t Hash64(std::string_view text, uint64_t seed = 0);

// Returns a hash of the pair (hash, value). Order matters: in general HashCombine(a, b) != HashCombine(b, a). For a
// fixed `hash`, different values have different results.
constexpr uint64_t HashCombine(uint64_t hash, uint64_t value) {
  // splitmix64's finalizer (Steele, Lea, Flood 2014) over a multiply-xor mix.
  uint64_t z = hash * 0x9E3779B97F4A7C15u ^ value;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Returns `hash` as 16 lower-case hexadecimal digits.
std::string ToHex(uint64_t hash);
// Parses exactly 16 hexadecimal digits into `*hash` and returns true; returns false for any other text.
bool ParseHex(std::string_view hex, uint64_t* hash);

}  // namespace espalier
