#include "services/trainer/evaluation/ranking.h"

#include <cmath>
#include <limits>

namespace espalier::trainer {

void RankCounter::Add(std::span<const float> candidates) {
  uint64_t lower = 0, higher = 0, equal = 0;
  for (const float candidate : candidates) {
    lower += candidate < score_ ? 1 : 0;
    higher += candidate > score_ ? 1 : 0;
    equal += candidate == score_ ? 1 : 0;
  }
  higher_ += higher;
  equal_ += equal;
  num_nan_ += candidates.size() - lower - higher - equal;  // the rest: comparisons with NaN are false
}

void RankCounter::Remove(float candidate) {
  if (candidate > score_) {
    --higher_;
  } else if (candidate == score_) {
    --equal_;
  } else if (!(candidate < score_)) {
    --num_nan_;
  }
}

double RankCounter::Rank() const {
  if (std::isnan(score_) || num_nan_ > 0) return std::numeric_limits<double>::quiet_NaN();
  return 1.0 + static_cast<double>(higher_) + static_cast<double>(equal_) / 2;
}

double ComputeRank(float score, std::span<const float> candidates, std::span<const uint8_t> included) {
  RankCounter counter(score);
  counter.Add(candidates);
  for (size_t i = 0; i < included.size(); ++i) {
    if (included[i] == 0) counter.Remove(candidates[i]);
  }
  return counter.Rank();
}

double MeanReciprocalRank(std::span<const double> ranks) {
  double sum = 0;
  for (const double rank : ranks) sum += 1 / rank;
  return ranks.empty() ? 0 : sum / static_cast<double>(ranks.size());
}

double HitsAtK(std::span<const double> ranks, int64_t k) {
  uint64_t hits = 0;
  for (const double rank : ranks) {
    if (std::isnan(rank)) return rank;
    hits += rank <= static_cast<double>(k) ? 1 : 0;
  }
  return ranks.empty() ? 0 : static_cast<double>(hits) / static_cast<double>(ranks.size());
}

}  // namespace espalier::trainer
