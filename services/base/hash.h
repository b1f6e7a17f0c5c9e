// Hashes that results depend on. XXH3 for checksums and for keys of random streams: fast, seeded, with a
// published specification (github.com/Cyan4973/xxHash), not cryptographic. SHA-256 (sha256.h) where somebody
// could gain by a collision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace espalier {

uint64_t Hash64(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t Hash64(std::string_view text, uint64_t seed = 0);

// Order matters: HashCombine(a, b) != HashCombine(b, a). A bijection in `value` for each `hash`.
constexpr uint64_t HashCombine(uint64_t hash, uint64_t value) {
  // splitmix64's finaliser (Steele, Lea, Flood 2014) over a multiply-xor mix.
  uint64_t z = hash * 0x9E3779B97F4A7C15u ^ value;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// 16 lower-case hexadecimal digits.
std::string ToHex(uint64_t hash);
// The number that 16 hexadecimal digits say; false for anything else.
bool ParseHex(std::string_view hex, uint64_t* hash);

}  // namespace espalier
