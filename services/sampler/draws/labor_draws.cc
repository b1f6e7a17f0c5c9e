// Draw finds the `count` smallest of `degree` variates, usually in one pass. Only variates up to a bound, which is
// probably high enough, become candidates. Whenever too many candidates have accumulated, nth_element keeps the
// smallest `count` and lowers the bound. If fewer than `count` variates are at most the initial bound, a second pass
// without a bound follows. With weights, variates are compared as variate / weight by cross-multiplication, and there
// is no bound.
#include "services/sampler/draws/labor_draws.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "services/base/philox.h"
#include "services/sampler/draws/draw_words.h"

namespace espalier::sampler {
namespace {

constexpr uint32_t kSourcesAtOnce = 128;

// The weighted comparison multiplies a 64-bit by a 32-bit number.
__extension__ typedef unsigned __int128 Wide;

uint64_t ToVariate(uint32_t first_word, uint32_t second_word) { return uint64_t{first_word} << 32 | second_word; }

// Returns a bound that is nearly always high enough: at least `count` of `degree` uniform variates are at most the
// bound. A bound that is too low only costs the time of a second pass, so the rounding of the bound does not matter.
uint64_t ComputeLikelyBound(uint32_t degree, uint32_t count) {
  const double expected_below = count + 4 * std::sqrt(static_cast<double>(count)) + 8;
  const double share = expected_below / static_cast<double>(degree);
  return share >= 1 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(share * 0x1p64);
}

}  // namespace

uint64_t LaborVariate(uint64_t key, uint64_t source_id) {
  const auto block = Philox4x32(key, 0, source_id);
  return ToVariate(block[0], block[1]);
}

// Compares variate / weight without a division.
bool LaborDraws::IsBefore(const Candidate& a, const Candidate& b) {
  const Wide left = Wide{a.variate} * b.weight, right = Wide{b.variate} * a.weight;
  return left != right ? left < right : a.position < b.position;
}

void LaborDraws::KeepSmallest(uint32_t count) {
  if (candidates_.size() <= count) return;
  std::nth_element(candidates_.begin(), candidates_.begin() + (count - 1), candidates_.end(), IsBefore);
  candidates_.resize(count);
}

// Sets candidates_ to the `count` smallest variates, or to all variates up to `bound` if those are fewer.
void LaborDraws::Collect(uint32_t degree, const FillSourceIds& fill_source_ids, std::span<const uint32_t> prefix_sums,
                         uint32_t count, uint64_t bound) {
  const size_t max_candidates = 2 * size_t{count} + kSourcesAtOnce;
  uint64_t ids[kSourcesAtOnce];
  uint32_t words[4 * kSourcesAtOnce];
  uint32_t before = 0;  // prefix sum before the current position
  candidates_.clear();
  for (uint32_t first = 0; first < degree; first += std::min(kSourcesAtOnce, degree - first)) {
    const std::span<uint64_t> chunk(ids, std::min(kSourcesAtOnce, degree - first));
    fill_source_ids(first, chunk);
    FillDrawWords(key_, chunk, /*blocks_per_stream=*/1, words);
    for (uint32_t i = 0; i < chunk.size(); ++i) {
      const uint64_t variate = ToVariate(words[4 * i], words[4 * i + 1]);
      uint32_t weight = 1;
      if (!prefix_sums.empty()) {
        weight = prefix_sums[first + i] - before;
        before = prefix_sums[first + i];
      }
      if (weight > 0 && variate <= bound) candidates_.push_back({variate, weight, first + i});
    }
    if (candidates_.size() < max_candidates) continue;
    KeepSmallest(count);
    if (prefix_sums.empty()) bound = candidates_.back().variate;  // the largest kept: nth_element puts it there
  }
  KeepSmallest(count);
}

uint32_t LaborDraws::Draw(uint32_t degree, const FillSourceIds& fill_source_ids, std::span<const uint32_t> prefix_sums,
                          uint32_t count, uint32_t* positions) {
  constexpr uint64_t kNoBound = std::numeric_limits<uint64_t>::max();
  Collect(degree, fill_source_ids, prefix_sums, count,
          prefix_sums.empty() ? ComputeLikelyBound(degree, count) : kNoBound);
  if (prefix_sums.empty() && candidates_.size() < count) {
    Collect(degree, fill_source_ids, prefix_sums, count, kNoBound);
  }
  const auto taken = static_cast<uint32_t>(candidates_.size());
  for (uint32_t i = 0; i < taken; ++i) positions[i] = candidates_[i].position;
  std::sort(positions, positions + taken);
  return taken;
}

}  // namespace espalier::sampler
