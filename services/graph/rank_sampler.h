// Draws ranks (positions in the order of falling probability: 0, 1, 2, ...) with power-law probabilities in constant
// time and memory. The weight of rank r is the integral of (x + shift)^-a from r to r + 1, with a = 1 / (exponent - 1);
// a shift above 0 limits the weight of the first ranks. The integral, whose inverse has a closed form, approximates the
// weights (r + shift)^-a of a Chung-Lu graph with P(degree = d) ~ d^-exponent.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace espalier::graph {

// Immutable value; thread-safe.
class RankSampler {
 public:
  // Samples ranks below num_ranks (>= 1) with an exponent > 2. If max_share > 0, flattens the distribution so that rank
  // 0 gets at most this share of the draws. If max_share is below 1 / num_ranks, all ranks get nearly equal shares.
  RankSampler(uint64_t num_ranks, double exponent, double max_share);

  // Returns the rank at the quantile `unit` in [0, 1).
  uint64_t At(double unit) const {
    const double x = std::pow(low_ + unit * (high_ - low_), inverse_power_) - shift_;
    return std::min(num_ranks_ - 1, static_cast<uint64_t>(std::max(0.0, x)));
  }

 private:
  double ShareOfFirst(double shift) const;

  uint64_t num_ranks_;
  double power_;          // 1 - a, in (0, 1)
  double inverse_power_;  // 1 / power_
  double shift_ = 0;
  double low_ = 0;  // shift^power
  double high_ = 0;
};

}  // namespace espalier::graph
