// LABOR-0 draws: a node takes the in-edges whose sources have the smallest variates (draw_spec.h, kLabor). A variate is
// a random integer; docs/sampling.md defines its random bits. Variates are compared in integer arithmetic only, so that
// every machine draws the same.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace espalier::sampler {

// Writes to `ids` the original ids of the sources of a row's in-edges at positions [first, first + ids.size()). A row
// is the in-edges of one node, in stored order.
using FillSourceIds = std::function<void(uint32_t first, std::span<uint64_t> ids)>;

// Draws for one relation and hop. The scratch space is reused from row to row and has fewer than 2 * count + 256
// entries, regardless of the degree. One thread at a time.
class LaborDraws {
 public:
  explicit LaborDraws(uint64_t key) : key_(key) {}  // key: a result of LaborKey (sampling_spec.h)

  // Draws from a row of `degree` in-edges; degree > count >= 1. Writes, in ascending order, the positions of the
  // `count` smallest variates; of equal variates the one at the smaller position counts as smaller. With prefix_sums
  // ([degree], weighted_draws.h; empty: uniform) the variates are divided by the weights (Ohlsson 1998), and in-edges
  // of weight 0 are never drawn. Returns the number of positions: `count`, or fewer if fewer in-edges have a positive
  // weight.
  uint32_t Draw(uint32_t degree, const FillSourceIds& fill_source_ids, std::span<const uint32_t> prefix_sums,
                uint32_t count, uint32_t* positions);

 private:
  struct Candidate {
    uint64_t variate;
    uint32_t weight;
    uint32_t position;
  };

  static bool IsBefore(const Candidate& a, const Candidate& b);
  void Collect(uint32_t degree, const FillSourceIds& fill_source_ids, std::span<const uint32_t> prefix_sums,
               uint32_t count, uint64_t bound);
  void KeepSmallest(uint32_t count);

  const uint64_t key_;
  std::vector<Candidate> candidates_;
};

// Returns a source's variate: uniform over 64-bit integers.
uint64_t LaborVariate(uint64_t key, uint64_t source_id);

}  // namespace espalier::sampler
