// Random half-words for dropout masks, a pure function of (key, node, column). Column j of node v uses half-word j % 8
// (low half of each word first) of Philox4x32(key, j / 8, v).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace espalier::kernels {

inline constexpr int64_t kDropoutColumnsAtOnce = 32;

// Fills half_words[0 .. 32 * ceil(width / 32)): a whole number of groups of kDropoutColumnsAtOnce.
void DropoutHalfWords(uint64_t key, uint64_t original_id, int64_t width, uint16_t* half_words);

// Returns the threshold below which a half-word drops its element; kept elements are multiplied by DropoutScale.
// `probability` is in [0, 1); at least 1/65536 of the elements is kept.
inline int32_t DropThreshold(double probability) {
  return static_cast<int32_t>(std::min(std::lround(probability * 65536.0), 65535l));
}
inline float DropoutScale(double probability) {
  return static_cast<float>(65536.0 / (65536.0 - static_cast<double>(DropThreshold(probability))));
}

}  // namespace espalier::kernels
