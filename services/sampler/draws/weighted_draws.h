// Weighted draws by integer prefix sums. A row's weights become 32-bit integers whose sum is below 2^32, so mapping a
// random word to an in-edge is integer arithmetic, which no rounding mode, fused multiply-add or libm can change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/tensor.h"
#include "services/sampler/draws/neighbor_draws.h"

namespace espalier::sampler {

// Computes the prefix sums of one row, positions [begin, end) of `weights`: prefix_sums[k] = the row's integer weights
// up to and including position k, for k in [begin, end). Integer weights whose row sum is below 2^32 are used exactly;
// others are scaled by a power of two per row, so that the row's sum is below 2^32 (positive weights stay positive).
// InvalidArgument gives the position of the first weight that is negative or not finite.
Status QuantizeRow(const Tensor& weights, uint64_t begin, uint64_t end, uint32_t* prefix_sums);

// Returns InvalidArgument for a dtype other than BOOL, U8 ... I64, F32, F64, or for more than one number per edge.
Status CheckWeightColumn(const Tensor& weights);

// In the functions below, prefix_sums are those of one row and are not empty; total is prefix_sums.back().

// Draws `count` positions in non-descending order, each in proportion to its weight; one word for each. total > 0.
void DrawWeightedWithReplacement(const uint32_t* words, std::span<const uint32_t> prefix_sums, uint32_t count,
                                 uint32_t* positions);

// Draws up to `count` distinct positions of positive weight, ascending: successive draws, each in proportion to the
// weights not drawn yet; fewer if fewer are positive. Words [0, count) first draw with replacement and repetitions are
// discarded, then words count, count + 1, ... each draw one of the rest. Returns the number of positions.
uint32_t DrawWeightedWithoutReplacement(uint64_t key, uint64_t original_id, const uint32_t* words,
                                        std::span<const uint32_t> prefix_sums, uint32_t count, uint32_t* positions);

// Returns the ratio that estimates where the search for a target starts: prefetch around `target` times this ratio.
inline float PositionsPerWeight(uint32_t degree, uint32_t total) {
  return static_cast<float>(degree) / static_cast<float>(total);
}
inline constexpr uint32_t kSearchWindow = 16;

// Writes all positions of positive weight and returns their number.
uint32_t AllOfPositiveWeight(std::span<const uint32_t> prefix_sums, uint32_t* positions);

}  // namespace espalier::sampler
