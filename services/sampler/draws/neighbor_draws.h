// Which of a node's in-edges are drawn: positions 0 .. degree - 1 in stored order, as a pure function of the words
// of the node's draw stream (draw_words.h; docs/sampling.md says which word decides what). The kernels know no
// graph.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "services/sampler/draws/sampling_spec.h"

namespace espalier::sampler {

// The number of positions that a uniform draw gives. With replacement a node without in-edges gives none.
constexpr uint32_t NumDrawn(uint32_t degree, int32_t fanout, bool replace) {
  if (fanout == kFullNeighborhood) return degree;
  const auto count = static_cast<uint32_t>(fanout);
  if (replace) return degree == 0 ? 0 : count;
  return std::min(degree, count);
}

// True where NumDrawn positions are simply all of them, and no random word is read.
constexpr bool DrawsAll(uint32_t degree, int32_t fanout, bool replace) {
  if (fanout == kFullNeighborhood || degree == 0) return true;
  return !replace && degree <= static_cast<uint32_t>(fanout);
}

// The words that a draw of `count` positions reads come in whole blocks of four.
constexpr uint32_t DrawBlocks(uint32_t count) { return count / 4 + (count % 4 != 0 ? 1 : 0); }

// Scratch space for draws larger than registers hold. One thread at a time.
class DrawScratch {
 public:
  // Forgets all values; makes room for `count`.
  void Clear(uint32_t count);
  // False where the value is already there.
  bool Insert(uint32_t value);

 private:
  std::vector<uint64_t> slots_;  // (round, value): slots of older rounds are free
  uint64_t round_ = 0;
  uint64_t mask_ = 0;
};

// `count` distinct positions of [0, degree), ascending, every subset equally likely (up to 2^-32 of bias): Floyd's
// algorithm (Bentley, Floyd 1987), one word for each position. 0 < count < degree.
void DrawWithoutReplacement(const uint32_t* words, uint32_t degree, uint32_t count, DrawScratch& scratch,
                            uint32_t* positions);

// Ascending order; all positions below `degree`.
void SortPositions(uint32_t* positions, uint32_t count, uint32_t degree);

// `count` positions, not descending; one word for each. 0 < degree.
void DrawWithReplacement(const uint32_t* words, uint32_t degree, uint32_t count, uint32_t* positions);

}  // namespace espalier::sampler
