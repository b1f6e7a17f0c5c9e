// How likely an edge is, by the embeddings of its ends. s, d: rows of source and destination [D]; r: learned for the
// edge type. The greater score is the likelier edge.
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

#include <memory>

#include "services/job/dist_training.h"

namespace espalier::trainer {

// Thread-compatible. One parameter, "relation" (none for Dot): f32 [D], RotatE: [D / 2] angles in (-pi, pi); first
// values by (seed, "scorer.relation").
class LinkScorer : public torch::nn::Module {
 public:
  // ComplEx and RotatE need an even width (checked).
  LinkScorer(job::Scorer scorer, int64_t width, uint64_t seed);

  // Row by row: f32 [n, D], [n, D] -> [n].
  torch::Tensor Score(const torch::Tensor& sources, const torch::Tensor& destinations) const;
  // Each source with each destination: f32 [n, D], [m, D] -> [n, m]. Memory: n * m * D floats for TransE and RotatE.
  torch::Tensor ScoreAll(const torch::Tensor& sources, const torch::Tensor& destinations) const;

 private:
  // What the source asks for: scores are its dot product with, or its distance from, the destination.
  torch::Tensor Query(const torch::Tensor& sources) const;
  bool is_distance() const { return scorer_ == job::Scorer::kTransE || scorer_ == job::Scorer::kRotatE; }
  // [..., D] -> [...]
  torch::Tensor Length(const torch::Tensor& differences) const;

  const job::Scorer scorer_;
  const int64_t width_;
  torch::Tensor relation_;  // undefined for Dot
};

}  // namespace espalier::trainer
