// Random half-words for dropout masks: a pure function of (key, node, column). Column j of
// node v takes half-word j % 8 (low half of a word first) of Philox4x32(key, j / 8, v).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace espalier::kernels {

inline constexpr int64_t kDropoutColumnsAtOnce = 32;

// Fills half_words[0 .. 32 * ceil(width / 32)): a whole number of groups of kDropoutColumnsAtOnce.
void DropoutHalfWords(uint64_t key, uint64_t original_id, int64_t width, uint16_t* half_words);

// A half-word below this drops its element; those that stay are multiplied with KeptScale. probability: 0 to below 1,
// of which 1/65536 at least stays.
inline int32_t DropThreshold(double probability) {
  return static_cast<int32_t>(std::min(std::lround(probability * 65536.0), 65535l));
}
inline float KeptScale(double probability) {
  return static_cast<float>(65536.0 / (65536.0 - static_cast<double>(DropThreshold(probability))));
}

}  // namespace espalier::kernels
