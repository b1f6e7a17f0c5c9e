// Ranks of true edges among candidates: what mean reciprocal rank and Hits@k are made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::trainer {

// How a score stands among candidates.
class Standing {
 public:
  explicit Standing(float score) : score_(score) {}
  void Add(std::span<const float> candidates);
  // Takes back one that was added.
  void Remove(float candidate);
  // 1 + those that are higher + half of those that are equal; not a number where a score is none.
  double Rank() const;

 private:
  float score_;
  uint64_t higher_ = 0, equal_ = 0, no_numbers_ = 0;
};

// 1 + the candidates that score higher + half of those that score the same: the average rank among equals (the
// "realistic" rank of Berrendorf et al., "On the ambiguity of rank-based evaluation of entity alignment or link
// prediction methods", 2020), so that a model that scores everything alike is not taken for a perfect one. counts[i] ==
// 0 leaves candidate i out; `counts` may be empty: all count. Not a
// number where one of the scores that count is none.
double ComputeRank(float score, std::span<const float> candidates, std::span<const uint8_t> counts);

// Means over ranks, in the order given; 0 of none, not a number where a rank is none. Mean reciprocal rank (Voorhees,
// TREC-8, 1999), and the share of ranks of at most k (Bordes et al., NIPS 2013).
double MeanReciprocalRank(std::span<const double> ranks);
double HitsAtK(std::span<const double> ranks, int64_t k);

}  // namespace espalier::trainer
