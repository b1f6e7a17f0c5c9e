// How likely an edge is, by the embeddings of its ends. s, d: rows of source and destination [D]; r: learned for the
// edge type, the edge's relation. The greater score is the likelier edge.
//
//   Dot       sum s_i d_i
//   DistMult  sum s_i r_i d_i                                       (Yang et al., ICLR 2015)
//   ComplEx   Re(sum s_i r_i conj(d_i)), rows as D/2 complex numbers  (Trouillon et al., ICML 2016)
//   TransE    12 - |s + r - d|_1                                     (Bordes et al., NIPS 2013)
//   RotatE    12 - sum |s_i e^(i r_i) - d_i|, as D/2 complex numbers  (Sun et al., ICLR 2019)
//
// Complex rows hold their real parts first, then their imaginary parts. The margin of 12 is DGL-KE's default.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <span>

#include "services/job/dist_training.h"

namespace espalier::trainer {

// Rows `rows` of x, f32 [N, F] -> [rows, F]. Its backward pass adds gradients up in a fixed order, where torch's
// scatters.
torch::Tensor RowsAt(const torch::Tensor& x, std::span<const uint32_t> rows);

// Thread-compatible. One parameter, "relation" (none for Dot): f32 [relations, D], RotatE: [relations, D / 2] angles in
// (-pi, pi); first values by (seed, "scorer.relation").
class LinkScorer : public torch::nn::Module {
 public:
  // ComplEx and RotatE need an even width; there is at least one relation (checked).
  LinkScorer(job::Scorer scorer, int64_t num_relations, int64_t width, uint64_t seed);

  // What sources ask for, f32 [n, D] -> [n, D]: relations[i] is that of row i. A score is a function of this and of the
  // destination.
  torch::Tensor Query(const torch::Tensor& sources, std::span<const uint32_t> relations) const;
  // Row by row, which broadcast as torch's do: f32 [..., D], [..., D] -> [...].
  torch::Tensor Score(const torch::Tensor& queries, const torch::Tensor& destinations) const;
  // Each with each: f32 [n, D], [m, D] -> [n, m]. Without gradients TransE and RotatE need no more than
  // kMostDifferences floats beside the result.
  torch::Tensor ScoreAll(const torch::Tensor& queries, const torch::Tensor& destinations) const;

 private:
  static constexpr int64_t kMostDifferences = int64_t{1} << 24;

  bool is_distance() const { return scorer_ == job::Scorer::kTransE || scorer_ == job::Scorer::kRotatE; }
  // [..., D] -> [...]
  torch::Tensor Length(const torch::Tensor& differences) const;

  const job::Scorer scorer_;
  const int64_t num_relations_, width_;
  torch::Tensor relation_;  // undefined for Dot
};

}  // namespace espalier::trainer
