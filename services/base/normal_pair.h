// Normal deviates computed from random words.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace espalier {

// Returns two independent standard normal deviates (Box and Muller, "A Note on the Generation of Random Normal
// Deviates", 1958). `first` is mapped to a number in (0, 1], whose logarithm is finite. The absolute value of a deviate
// is at most 6.7.
inline std::array<double, 2> NormalPair(uint32_t first, uint32_t second) {
  const double radius = std::sqrt(-2.0 * std::log((first + 1.0) * 0x1p-32));
  const double angle = 2.0 * std::numbers::pi * (second * 0x1p-32);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace espalier
