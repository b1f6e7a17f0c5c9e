// Weighted draws by integer prefix sums. A row's weights become 32-bit integers whose sum is below 2^32, so which
// in-edge a random word means is integer arithmetic: no rounding mode, fused multiply-add or libm can change it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/tensor.h"
#include "services/sampler/draws/neighbor_draws.h"

namespace espalier::sampler {

// The prefix sums of one row, positions [begin, end) of `weights`: prefix_sums[k] = the row's integer weights up to
// and including position k, for k in [begin, end). Integer weights whose row sum is below 2^32 are taken exactly;
// others are scaled by a power of two, one for each row, so that the row's sum lies below 2^32 (positive weights stay
// positive). InvalidArgument names the first weight that is negative or not finite by its position.
Status QuantizeRow(const Tensor& weights, uint64_t begin, uint64_t end, uint32_t* prefix_sums);

// InvalidArgument for another dtype than BOOL, U8 ... I64, F32, F64, or more than one number for an edge.
Status CheckWeightColumn(const Tensor& weights);

// Below: prefix_sums of one row, not empty; total = prefix_sums.back().

// `count` positions, not descending, each in proportion to its weight; one word for each. total > 0.
void DrawWeightedWithReplacement(const uint32_t* words, std::span<const uint32_t> prefix_sums, uint32_t count,
                                 uint32_t* positions);

// Up to `count` distinct positions of positive weight, ascending: successive draws, each in proportion to the weights
// not drawn yet; fewer where fewer are positive. Words [0, count) first draw with replacement, repetitions are
// forgotten, then word count, count + 1, ... each draws one of the rest. Returns how many.
uint32_t DrawWeightedWithoutReplacement(uint64_t key, uint64_t original_id, const uint32_t* words,
                                        std::span<const uint32_t> prefix_sums, uint32_t count, uint32_t* positions);

// Where the search for a target looks: what to prefetch, around `target` times this ratio.
inline float PositionsPerWeight(uint32_t degree, uint32_t total) {
  return static_cast<float>(degree) / static_cast<float>(total);
}
inline constexpr uint32_t kSearchWindow = 16;

// All positions of positive weight; returns how many.
uint32_t AllOfPositiveWeight(std::span<const uint32_t> prefix_sums, uint32_t* positions);

}  // namespace espalier::sampler
