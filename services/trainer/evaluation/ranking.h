// Ranks of true edges among candidates, for mean reciprocal rank and Hits@k.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::trainer {

// Counts candidates with a higher score than a given score, and separately candidates with an equal score.
class RankCounter {
 public:
  explicit RankCounter(float score) : score_(score) {}
  void Add(std::span<const float> candidates);
  // Removes one candidate that was added.
  void Remove(float candidate);
  // Returns 1 + (number of higher scores) + (number of equal scores) / 2; NaN if a score is NaN.
  double Rank() const;

 private:
  float score_;
  uint64_t higher_ = 0, equal_ = 0, num_nan_ = 0;
};

// Returns 1 + (number of candidates with a higher score) + (number of candidates with an equal score) / 2. This is the
// average rank among equal scores, the "realistic" rank of Berrendorf et al., "On the ambiguity of rank-based
// evaluation of entity alignment or link prediction methods", 2020; a model that scores all candidates alike does not
// get a perfect rank. Candidate i is ignored if included[i] == 0; if `included` is empty, no candidate is ignored. NaN
// if `score` or the score of a candidate that is not ignored is NaN.
double ComputeRank(float score, std::span<const float> candidates, std::span<const uint8_t> included);

// MeanReciprocalRank returns the mean of 1 / rank (Voorhees, TREC-8, 1999), summed in the order of `ranks`; HitsAtK
// returns the fraction of `ranks` that are at most k (Bordes et al., NIPS 2013). Both return 0 without ranks, and NaN
// if a rank is NaN.
double MeanReciprocalRank(std::span<const double> ranks);
double HitsAtK(std::span<const double> ranks, int64_t k);

}  // namespace espalier::trainer
