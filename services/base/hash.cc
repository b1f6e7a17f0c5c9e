#include "services/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>

namespace espalier {

uint64_t Hash64(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t Hash64(std::string_view text, uint64_t seed) { return XXH3_64bits_withSeed(text.data(), text.size(), seed); }

std::string ToHex(uint64_t hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(16, '0');
  for (int i = 15; i >= 0; --i, hash >>= 4) hex[static_cast<size_t>(i)] = kDigits[hash & 15];
  return hex;
}

bool ParseHex(std::string_view hex, uint64_t* hash) {
  if (hex.size() != 16) return false;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), *hash, 16);
  return error == std::errc() && end == hex.data() + hex.size();
}

}  // namespace espalier
