// Scores edges by the embeddings of their endpoints: a larger score means a more likely edge. s and d are the rows [D]
// of source and destination; r is a learned row of the edge's relation.
//
//   Dot       sum s_k d_k
//   DistMult  sum s_k r_k d_k                                       (Yang et al., ICLR 2015)
//   ComplEx   Re(sum s_k r_k conj(d_k)), rows as D/2 complex numbers  (Trouillon et al., ICML 2016)
//   TransE    12 - |s + r - d|_1                                     (Bordes et al., NIPS 2013)
//   RotatE    12 - sum |s_k e^(i r_k) - d_k|, s and d as D/2 complex numbers  (Sun et al., ICLR 2019)
//
// Complex rows hold their real parts first, then their imaginary parts. The margin of 12 is DGL-KE's default.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <span>

#include "services/job/dist_training.h"

namespace espalier::trainer {

// Returns the given rows of x: f32 [N, F] -> [rows.size(), F]. The backward pass adds up gradients in a fixed order,
// without scattered writes.
torch::Tensor SelectRows(const torch::Tensor& x, std::span<const uint32_t> rows);

// Thread-compatible. Dot has no parameters; the others have "relation": f32 [relations, D], or for RotatE
// [relations, D / 2], angles whose initial values are in [-pi, pi). Initial values depend on the seed and the name
// "scorer.relation".
class LinkScorer : public torch::nn::Module {
 public:
  // ComplEx and RotatE need an even width; num_relations must be at least 1 (both checked).
  LinkScorer(job::Scorer scorer, int64_t num_relations, int64_t width, uint64_t seed);

  // Returns the queries: the sources combined with their relations, f32 [n, D] -> [n, D]. relations[i] is the relation
  // of row i. The score of an edge is a function of its query and its destination.
  torch::Tensor MakeQueries(const torch::Tensor& sources, std::span<const uint32_t> relations) const;
  // Returns the score of each pair of rows; dimensions broadcast as in torch: f32 [..., D], [..., D] -> [...].
  torch::Tensor Score(const torch::Tensor& queries, const torch::Tensor& destinations) const;
  // Returns the scores of all combinations: f32 [n, D], [m, D] -> [n, m]. TransE and RotatE compute at most
  // kMaxDifferences values of query - destination at a time, but at least those of one query. This bounds the memory
  // unless gradients are recorded.
  torch::Tensor ScoreAll(const torch::Tensor& queries, const torch::Tensor& destinations) const;

 private:
  static constexpr int64_t kMaxDifferences = int64_t{1} << 24;

  bool IsDistance() const { return scorer_ == job::Scorer::kTransE || scorer_ == job::Scorer::kRotatE; }
  // Returns the L1 norm (TransE) or the sum of complex absolute values (RotatE): [..., D] -> [...].
  torch::Tensor Length(const torch::Tensor& differences) const;

  const job::Scorer scorer_;
  const int64_t num_relations_, width_;
  torch::Tensor relation_;  // undefined for Dot
};

}  // namespace espalier::trainer
