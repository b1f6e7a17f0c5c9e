// Weighted draws by integer prefix sums. The weights of a row (the in-edges of one node) become 32-bit integers whose
// sum is below 2^32, so mapping a random word to an in-edge is integer arithmetic, which no rounding mode, fused
// multiply-add or libm can change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/tensor.h"
#include "services/sampler/draws/neighbor_draws.h"

namespace espalier::sampler {

// Computes the prefix sums of one row, positions [begin, end) of `weights`: for k in [begin, end), prefix_sums[k] is
// the sum of the row's integer weights up to and including position k. Weights of an integer dtype whose sum over the
// row is below 2^32 are used unchanged; other weights are scaled by a power of two per row and rounded down, so that
// the row's sum is below 2^32 (positive weights stay positive). `weights` has passed CheckWeightColumn. InvalidArgument
// gives the position of the first weight that is negative or not finite.
Status QuantizeRow(const Tensor& weights, uint64_t begin, uint64_t end, uint32_t* prefix_sums);

// Returns InvalidArgument for the dtypes F16 and BF16, and for columns that do not have one number per edge.
Status CheckWeightColumn(const Tensor& weights);

// In the functions below, prefix_sums are those of one row and are not empty; total is prefix_sums.back().

// Draws `count` positions, each in proportion to its weight, with one word for each, and sorts them. total > 0.
void DrawWeightedWithReplacement(const uint32_t* words, std::span<const uint32_t> prefix_sums, uint32_t count,
                                 uint32_t* positions);

// Draws up to `count` distinct positions of positive weight, ascending: successive draws, each in proportion to the
// weights not drawn yet. Returns the number of positions, which is below `count` if fewer weights are positive. Words
// [0, count) of the stream draw with replacement, and repetitions are discarded; then each of the words count, count +
// 1, ... draws one of the remaining positions. `words` has words [0, count); key and original_id select the stream.
uint32_t DrawWeightedWithoutReplacement(uint64_t key, uint64_t original_id, const uint32_t* words,
                                        std::span<const uint32_t> prefix_sums, uint32_t count, uint32_t* positions);

// Returns the average number of positions per unit of weight. The draws above search for a random target below `total`
// in the prefix sums; they begin with the kSearchWindow positions around target * PositionsPerWeight, which callers may
// prefetch.
inline float PositionsPerWeight(uint32_t degree, uint32_t total) {
  return static_cast<float>(degree) / static_cast<float>(total);
}
inline constexpr uint32_t kSearchWindow = 16;

// Writes all positions of positive weight, ascending, and returns their number.
uint32_t FindPositiveWeights(std::span<const uint32_t> prefix_sums, uint32_t* positions);

}  // namespace espalier::sampler
