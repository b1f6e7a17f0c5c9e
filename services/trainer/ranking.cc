#include "services/trainer/ranking.h"

namespace espalier::trainer {

void Standing::Add(std::span<const float> candidates) {
  uint64_t lower = 0, equal = 0;
  for (const float candidate : candidates) {
    lower += candidate < score_ ? 1 : 0;
    equal += candidate == score_ ? 1 : 0;
  }
  equal_ += equal;
  higher_ += candidates.size() - lower - equal;  // higher, or one of both is no number
}

void Standing::Remove(float candidate) {
  if (candidate == score_) {
    --equal_;
  } else if (!(candidate < score_)) {
    --higher_;
  }
}

double RankOf(float score, std::span<const float> candidates, std::span<const uint8_t> counts) {
  Standing standing(score);
  standing.Add(candidates);
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) standing.Remove(candidates[i]);
  }
  return standing.Rank();
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
