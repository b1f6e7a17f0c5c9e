// A row here is the in-edges of one node. Its weights are quantized in three scans: the largest weight determines a
// first power of two, the sum of the weights at that scale determines the final one, and the last scan writes prefix
// sums. A draw is a search for a random target in the prefix sums (PositionFinder). Draws without replacement first
// draw with replacement, then replace repetitions by draws from the remaining weight: the target is shifted past the
// intervals of the positions drawn so far.
#include "services/sampler/draws/weighted_draws.h"

#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

#include "services/base/philox.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace espalier::sampler {
namespace {

// If the sum of a row's weights has more than 32 bits at the first scale, the final scale reduces it to this many bits.
// The 32nd bit is left for the increase of small weights, which are raised to 1.
constexpr int kSumBits = 31;

Status BadWeight(uint64_t position, const std::string& value) {
  return InvalidArgument("weight at position " + std::to_string(position) + " is " + value +
                         ", expected a finite number that is not negative");
}

// A weight as mantissa * 2^exponent, exactly. The mantissa has at most 53 bits, or 64 for integer weights.
struct ExactWeight {
  uint64_t mantissa = 0;
  int exponent = 0;
};

// Returns InvalidArgument for a weight that is negative or not finite.
template <class T>
Result<ExactWeight> ToExactWeight(T weight, uint64_t position) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!(weight >= 0) || std::isinf(weight)) return BadWeight(position, std::to_string(weight));
    int exponent = 0;
    const double fraction = std::frexp(static_cast<double>(weight), &exponent);  // in [0.5, 1), exact
    return ExactWeight{static_cast<uint64_t>(fraction * 0x1p53), exponent - 53};
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (weight < 0) return BadWeight(position, std::to_string(weight));
    }
    return ExactWeight{static_cast<uint64_t>(weight), 0};
  }
}

// Returns floor(weight * 2^shift), but at least 1 for a positive weight.
uint64_t Quantize(ExactWeight weight, int shift) {
  if (weight.mantissa == 0) return 0;
  const int total_shift = weight.exponent + shift;
  if (total_shift >= 0) return weight.mantissa << total_shift;
  const uint64_t floored = total_shift <= -64 ? 0 : weight.mantissa >> -total_shift;
  return floored == 0 ? 1 : floored;
}

// Returns the exponent of the power of two that scales a row's largest weight from `largest_bits` bits to 32 bits.
// Integers of at most 32 bits are not scaled.
template <class T>
int ComputeFirstShift(int largest_bits) {
  const int shift = 32 - largest_bits;
  return std::is_floating_point_v<T> ? shift : std::min(shift, 0);
}

template <class T>
Status QuantizeAs(const Tensor& weights, uint64_t begin, uint64_t end, uint32_t* prefix_sums) {
  const T* const values = reinterpret_cast<const T*>(weights.bytes());
  int largest_bits = -(1 << 20);  // bit width of the largest weight's integer part; negative for small fractions
  for (uint64_t k = begin; k < end; ++k) {
    ASSIGN_OR_RETURN(const ExactWeight weight, ToExactWeight(values[k], k));
    if (weight.mantissa == 0) continue;
    largest_bits = std::max(largest_bits, static_cast<int>(std::bit_width(weight.mantissa)) + weight.exponent);
  }
  int shift = ComputeFirstShift<T>(largest_bits);
  uint64_t sum = 0;  // fewer than 2^32 terms below 2^32, so no overflow
  for (uint64_t k = begin; k < end; ++k) {
    ASSIGN_OR_RETURN(const ExactWeight weight, ToExactWeight(values[k], k));
    sum += Quantize(weight, shift);
  }
  if (sum > ~uint32_t{0}) shift -= static_cast<int>(std::bit_width(sum)) - kSumBits;
  uint32_t running = 0;
  for (uint64_t k = begin; k < end; ++k) {
    ASSIGN_OR_RETURN(const ExactWeight weight, ToExactWeight(values[k], k));
    prefix_sums[k] = running += static_cast<uint32_t>(Quantize(weight, shift));
  }
  return {};
}

uint32_t WeightBefore(std::span<const uint32_t> prefix_sums, uint32_t position) {
  return position == 0 ? 0 : prefix_sums[position - 1];
}

constexpr uint32_t kSumsAtOnce = 8;

// Returns how many of eight ascending sums are at most `target`.
uint32_t CountAtMost(const uint32_t* sums, uint32_t target) {
#ifdef __AVX2__
  const __m256i targets = _mm256_set1_epi32(static_cast<int>(target));
  const __m256i eight_sums = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums));
  const __m256i is_at_most = _mm256_cmpeq_epi32(_mm256_max_epu32(eight_sums, targets), targets);
  return static_cast<uint32_t>(
      std::popcount(static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(is_at_most)))));
#else
  uint32_t count = 0;
  for (uint32_t k = 0; k < kSumsAtOnce; ++k) count += static_cast<uint32_t>(sums[k] <= target);
  return count;
#endif
}

// Finds the position whose interval of the prefix sums contains a target: the first with prefix_sums[position] >
// target. Weights of a row are often similar, so the search first checks a window of positions around the place where
// equal weights would put the target, then a second window that corrects the first, and falls back to a binary search.
class PositionFinder {
 public:
  // The sums are not empty, and the last one is not 0.
  explicit PositionFinder(std::span<const uint32_t> prefix_sums)
      : sums_(prefix_sums.data()),
        degree_(static_cast<uint32_t>(prefix_sums.size())),
        positions_per_weight_(PositionsPerWeight(degree_, prefix_sums.back())) {}

  uint32_t operator()(uint32_t target) const {
    if (degree_ <= kWindow) return FindInShortRow(target);
    uint32_t first = WindowStart(static_cast<float>(target) * positions_per_weight_);
    if (WindowContains(first, target)) return first + CountInWindow(first, target);
    const uint32_t middle = first + kWindow / 2;
    const float distance = static_cast<float>(target) - static_cast<float>(sums_[middle]);
    first = WindowStart(static_cast<float>(middle) + distance * positions_per_weight_);
    if (WindowContains(first, target)) return first + CountInWindow(first, target);
    return static_cast<uint32_t>(std::upper_bound(sums_, sums_ + degree_, target) - sums_);
  }

 private:
  static constexpr uint32_t kWindow = kSearchWindow;
  static_assert(kWindow == 2 * kSumsAtOnce);

  uint32_t WindowStart(float position) const {
    const auto rounded = static_cast<int64_t>(position) - kWindow / 2;
    return static_cast<uint32_t>(std::clamp<int64_t>(rounded, 0, degree_ - kWindow));
  }
  // Returns whether the window starting at `first` contains the target's position.
  bool WindowContains(uint32_t first, uint32_t target) const {
    return (first == 0 || sums_[first - 1] <= target) && sums_[first + kWindow - 1] > target;
  }
  uint32_t CountInWindow(uint32_t first, uint32_t target) const {
    return CountAtMost(sums_ + first, target) + CountAtMost(sums_ + first + kSumsAtOnce, target);
  }
  uint32_t FindInShortRow(uint32_t target) const {
    if (degree_ < kSumsAtOnce) {
      uint32_t count = 0;
      for (uint32_t k = 0; k < degree_; ++k) count += static_cast<uint32_t>(sums_[k] <= target);
      return count;
    }
    const uint32_t in_first = CountAtMost(sums_, target);
    const uint32_t in_last = CountAtMost(sums_ + degree_ - kSumsAtOnce, target);  // may overlap the first eight sums
    return in_first < kSumsAtOnce ? in_first : degree_ - kSumsAtOnce + in_last;
  }

  const uint32_t* sums_;
  uint32_t degree_;
  float positions_per_weight_;  // only a starting point: no result depends on its rounding
};

// The words of a stream from index `first` on, generated one block at a time.
class LaterWords {
 public:
  LaterWords(uint64_t key, uint64_t stream, uint64_t first) : key_(key), stream_(stream), next_(first) {}
  uint32_t Next() {
    if (!has_block_ || next_ % 4 == 0) block_ = Philox4x32(key_, next_ / 4, stream_);
    has_block_ = true;
    return block_[next_++ % 4];
  }

 private:
  uint64_t key_, stream_, next_;
  bool has_block_ = false;
  std::array<uint32_t, 4> block_{};
};

}  // namespace

Status CheckWeightColumn(const Tensor& weights) {
  if (weights.row_bytes() != ItemSize(weights.dtype())) {
    return InvalidArgument("weights are " + weights.ToString() + ", expected one number for each edge");
  }
  if (weights.dtype() == DType::kF16 || weights.dtype() == DType::kBF16) {
    return InvalidArgument("weights are " + weights.ToString() + ", expected F32, F64, an integer type or BOOL");
  }
  return {};
}

Status QuantizeRow(const Tensor& weights, uint64_t begin, uint64_t end, uint32_t* prefix_sums) {
  switch (weights.dtype()) {
    case DType::kBool:
    case DType::kU8: return QuantizeAs<uint8_t>(weights, begin, end, prefix_sums);
    case DType::kI8: return QuantizeAs<int8_t>(weights, begin, end, prefix_sums);
    case DType::kU16: return QuantizeAs<uint16_t>(weights, begin, end, prefix_sums);
    case DType::kI16: return QuantizeAs<int16_t>(weights, begin, end, prefix_sums);
    case DType::kU32: return QuantizeAs<uint32_t>(weights, begin, end, prefix_sums);
    case DType::kI32: return QuantizeAs<int32_t>(weights, begin, end, prefix_sums);
    case DType::kU64: return QuantizeAs<uint64_t>(weights, begin, end, prefix_sums);
    case DType::kI64: return QuantizeAs<int64_t>(weights, begin, end, prefix_sums);
    case DType::kF32: return QuantizeAs<float>(weights, begin, end, prefix_sums);
    case DType::kF64: return QuantizeAs<double>(weights, begin, end, prefix_sums);
    case DType::kF16:
    case DType::kBF16: break;
  }
  return CheckWeightColumn(weights);
}

void DrawWeightedWithReplacement(const uint32_t* words, std::span<const uint32_t> prefix_sums, uint32_t count,
                                 uint32_t* positions) {
  const PositionFinder position_of(prefix_sums);
  const uint32_t total = prefix_sums.back();
  for (uint32_t i = 0; i < count; ++i) positions[i] = position_of(BoundedDraw(words[i], total));
  SortPositions(positions, count, static_cast<uint32_t>(prefix_sums.size()));
}

uint32_t DrawWeightedWithoutReplacement(uint64_t key, uint64_t original_id, const uint32_t* words,
                                        std::span<const uint32_t> prefix_sums, uint32_t count, uint32_t* positions) {
  if (prefix_sums.size() <= count) return FindPositiveWeights(prefix_sums, positions);
  if (prefix_sums.back() == 0 || count == 0) return 0;
  DrawWeightedWithReplacement(words, prefix_sums, count, positions);
  auto drawn = static_cast<uint32_t>(std::unique(positions, positions + count) - positions);
  if (drawn == count) return drawn;

  const PositionFinder position_of(prefix_sums);
  LaterWords later(key, original_id, count);
  uint32_t remaining = prefix_sums.back();  // weight not drawn yet
  for (uint32_t i = 0; i < drawn; ++i) remaining -= prefix_sums[positions[i]] - WeightBefore(prefix_sums, positions[i]);
  while (drawn < count && remaining > 0) {
    // The target counts only weight not drawn yet: skip each drawn interval that starts at or before it.
    uint32_t target = BoundedDraw(later.Next(), remaining);
    uint32_t place = 0;  // index in `positions` at which the new position is inserted
    for (; place < drawn; ++place) {
      const uint32_t before = WeightBefore(prefix_sums, positions[place]);
      if (target < before) break;
      target += prefix_sums[positions[place]] - before;
    }
    const uint32_t position = position_of(target);
    remaining -= prefix_sums[position] - WeightBefore(prefix_sums, position);
    for (uint32_t i = drawn; i > place; --i) positions[i] = positions[i - 1];
    positions[place] = position;
    ++drawn;
  }
  return drawn;
}

uint32_t FindPositiveWeights(std::span<const uint32_t> prefix_sums, uint32_t* positions) {
  uint32_t count = 0;
  for (uint32_t position = 0; position < prefix_sums.size(); ++position) {
    if (prefix_sums[position] > WeightBefore(prefix_sums, position)) positions[count++] = position;
  }
  return count;
}

}  // namespace espalier::sampler
