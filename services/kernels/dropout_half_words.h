// Random half-words of 16 bits for dropout masks, a pure function of (key, node, column). Column j of the node with
// original id v uses half-word j % 8 (low half of each word first) of Philox4x32(key, j / 8, v).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace espalier::kernels {

// Half-words are computed for this many columns at a time.
inline constexpr int64_t kDropoutColumnsAtOnce = 32;

// Fills half_words[0 .. n), where n is `width` rounded up to a multiple of kDropoutColumnsAtOnce. The buffer must have
// room for n half-words.
void FillDropoutHalfWords(uint64_t key, uint64_t original_id, int64_t width, uint16_t* half_words);

// Returns the threshold: an element is dropped if its half-word is below it. `probability` is in [0, 1); at least 1 of
// 65536 elements is kept on average.
inline int32_t DropThreshold(double probability) {
  return static_cast<int32_t>(std::min(std::lround(probability * 65536.0), 65535l));
}
// Returns the factor of kept elements: 1 / (the fraction that is kept).
inline float DropoutScale(double probability) {
  return static_cast<float>(65536.0 / (65536.0 - static_cast<double>(DropThreshold(probability))));
}

}  // namespace espalier::kernels
