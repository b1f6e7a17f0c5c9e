// Selects which of a node's in-edges are drawn. In-edges are represented by their positions in stored order, from 0 to
// degree - 1. The selection is a pure function of the words of the node's draw stream (draw_words.h; docs/sampling.md
// defines the meaning of each word).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "services/sampler/draws/sampling_spec.h"

namespace espalier::sampler {

// Returns how many positions a uniform draw takes: 0 for a node without in-edges, also with replacement.
constexpr uint32_t NumDrawn(uint32_t degree, int32_t fanout, bool replace) {
  if (fanout == kFullNeighborhood) return degree;
  const auto count = static_cast<uint32_t>(fanout);
  if (replace) return degree == 0 ? 0 : count;
  return std::min(degree, count);
}

// Returns whether a uniform draw takes every position once, so that it reads no random words.
constexpr bool DrawsAll(uint32_t degree, int32_t fanout, bool replace) {
  if (fanout == kFullNeighborhood || degree == 0) return true;
  return !replace && degree <= static_cast<uint32_t>(fanout);
}

// Returns how many blocks of four words contain the first `count` words of a stream.
constexpr uint32_t NumDrawBlocks(uint32_t count) { return count / 4 + (count % 4 != 0 ? 1 : 0); }

// A hash set of positions, for draws that are too large for registers. One thread at a time.
class DrawScratch {
 public:
  // Removes all values and makes room for `count` values.
  void Clear(uint32_t count);
  // Inserts a value; returns false if it is present already.
  bool Insert(uint32_t value);

 private:
  std::vector<uint64_t> slots_;  // round << 32 | value; a slot with another round than round_ is free
  uint64_t round_ = 0;           // number of calls of Clear, from 1 to 2^32 - 1, then from 1 again
  uint64_t mask_ = 0;
};

// Writes `count` distinct positions of [0, degree), ascending, every subset equally likely (up to a bias of 2^-32):
// Floyd's algorithm (Bentley, Floyd 1987), one word for each position. 0 < count < degree.
void DrawWithoutReplacement(const uint32_t* words, uint32_t degree, uint32_t count, DrawScratch& scratch,
                            uint32_t* positions);

// Sorts positions, all below `degree`, in ascending order.
void SortPositions(uint32_t* positions, uint32_t count, uint32_t degree);

// Writes `count` positions in non-descending order; one word for each. 0 < degree.
void DrawWithReplacement(const uint32_t* words, uint32_t degree, uint32_t count, uint32_t* positions);

}  // namespace espalier::sampler
