// Corrupts valid files for robustness tests. Deterministic for a given state of the random generator.
#pragma once

#include <random>
#include <string>

namespace espalier::format {

// Applies one to four random changes: flips a bit, overwrites a byte, truncates, duplicates or erases a range.
inline std::string Mutated(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  for (size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = below(bytes.size());
    switch (below(6)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 1: bytes[at] = static_cast<char>(random()); break;
      case 2: bytes[at] = "0123456789[]{}:,\"-"[below(18)]; break;
      case 3: bytes.resize(at); break;
      case 4: bytes.insert(at, bytes.substr(below(bytes.size()), below(16))); break;
      case 5: bytes.erase(at, below(16)); break;
    }
  }
  return bytes;
}

}  // namespace espalier::format
