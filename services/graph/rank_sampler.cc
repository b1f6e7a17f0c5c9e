#include "services/graph/rank_sampler.h"

namespace espalier::graph {

RankSampler::RankSampler(uint64_t num_ranks, double exponent, double max_share)
    : num_ranks_(num_ranks), power_(1 - 1 / (exponent - 1)), inverse_power_(1 / power_) {
  if (max_share > 0 && ShareOfFirst(0) > max_share) {
    // Finds the shift by bisection: the share of rank 0 falls toward 1 / num_ranks as the shift grows.
    double too_small = 0, large_enough = 1;
    while (ShareOfFirst(large_enough) > max_share && large_enough < 1e6 * static_cast<double>(num_ranks)) {
      large_enough *= 2;
    }
    for (int step = 0; step < 100; ++step) {
      const double middle = (too_small + large_enough) / 2;
      (ShareOfFirst(middle) > max_share ? too_small : large_enough) = middle;
    }
    shift_ = large_enough;
  }
  low_ = std::pow(shift_, power_);
  high_ = std::pow(static_cast<double>(num_ranks) + shift_, power_);
}

double RankSampler::ShareOfFirst(double shift) const {
  const double low = std::pow(shift, power_);
  return (std::pow(1 + shift, power_) - low) / (std::pow(static_cast<double>(num_ranks_) + shift, power_) - low);
}

}  // namespace espalier::graph
