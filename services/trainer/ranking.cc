#include "services/trainer/ranking.h"

namespace espalier::trainer {

double RankOf(float score, std::span<const float> candidates, std::span<const uint8_t> counts) {
  uint64_t higher = 0, equal = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!counts.empty() && counts[i] == 0) continue;
    if (candidates[i] == score) {
      ++equal;
    } else if (!(candidates[i] < score)) {  // higher, or one of both is no number
      ++higher;
    }
  }
  return 1.0 + static_cast<double>(higher) + static_cast<double>(equal) / 2;
}

double MeanReciprocalRank(std::span<const double> ranks) {
  double sum = 0;
  for (const double rank : ranks) sum += 1 / rank;
  return ranks.empty() ? 0 : sum / static_cast<double>(ranks.size());
}

double HitsAtK(std::span<const double> ranks, int64_t k) {
  uint64_t hits = 0;
  for (const double rank : ranks) hits += rank <= static_cast<double>(k) ? 1 : 0;
  return ranks.empty() ? 0 : static_cast<double>(hits) / static_cast<double>(ranks.size());
}

}  // namespace espalier::trainer
