// Ranks of true edges among candidates: what mean reciprocal rank and Hits@k are made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::trainer {

// 1 + the candidates that score higher + half of those that score the same: the average rank among equals (the
// "realistic" rank of Berrendorf et al., "On the ambiguity of rank-based evaluation of entity alignment or link
// prediction methods", 2020), so that a model that scores everything alike is not taken for a perfect one. counts[i] ==
// 0 leaves candidate i out; `counts` may be empty: all count. Scores that are not numbers count as higher: such a model
// ranks last.
double RankOf(float score, std::span<const float> candidates, std::span<const uint8_t> counts);

// Means over ranks, in the order given; 0 of none. Mean reciprocal rank (Voorhees, TREC-8, 1999), and the share of
// ranks of at most k (Bordes et al., NIPS 2013).
double MeanReciprocalRank(std::span<const double> ranks);
double HitsAtK(std::span<const double> ranks, int64_t k);

}  // namespace espalier::trainer
