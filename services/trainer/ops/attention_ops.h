// Graph attention over one block, with gradients (kernels: kernels/attention.h). Shapes: N rows of sources, D rows of
// destinations, E edges, H heads with C columns each.
#pragma once

#include <torch/torch.h>

#include "services/kernels/attention.h"

namespace espalier::trainer {

// A block's edges, kept for as long as any backward pass needs them: several operations share one copy.
class AttentionEdges {
 public:
  enum class SelfEdges { kNone, kAppended };  // appended: each destination d hears source row d too, as its last edge

  // The segments are only read during the call. Sources are rows [0, num_sources). Made under torch::NoGradGuard it
  // serves forward passes only.
  AttentionEdges(const kernels::Segments& segments, int64_t num_sources, SelfEdges self_edges);

  kernels::EdgeView view() const;
  int64_t num_rows() const { return indptr_.numel() - 1; }
  int64_t num_edges() const { return indices_.numel(); }
  int64_t num_sources() const { return num_sources_; }

  // The same edges from the tensors that autograd has kept for an operation.
  static AttentionEdges Saved(const torch::autograd::variable_list& saved);
  void AppendTo(torch::autograd::variable_list* saved) const;

 private:
  AttentionEdges() = default;
  torch::Tensor indptr_, indices_, by_source_, destinations_, positions_;  // words as i32
  int64_t num_sources_ = 0;
};

// Which weights a training step drops: an element of edge (s, d) and head h with probability round(p * 65536) / 65536,
// decided by Philox on (key, original ids of s and d, h); what stays is scaled by the inverse. Parallel edges share
// their fate.
struct EdgeDropout {
  double probability = 0;         // 0: none; < 1
  uint64_t key = 0;               // RandomKey(seed, kAttentionDropout, epoch, step, layer, relation)
  torch::Tensor source_ids;       // i64 [at least N]
  torch::Tensor destination_ids;  // i64 [at least D]
};

// [N, H], [D, H] -> [E, H]: LeakyReLU(source + destination).
torch::Tensor AdditiveEdgeScores(const AttentionEdges& edges, const torch::Tensor& source,
                                 const torch::Tensor& destination, double negative_slope);
// [N, H * C], [D, H * C], attention [H, C] -> [E, H]: attention . LeakyReLU(source + destination), head by head.
torch::Tensor DynamicEdgeScores(const AttentionEdges& edges, const torch::Tensor& source,
                                const torch::Tensor& destination, const torch::Tensor& attention,
                                double negative_slope);
// [E, H] -> [E, H]: softmax over the edges of each destination.
torch::Tensor EdgeSoftmax(const AttentionEdges& edges, const torch::Tensor& scores);
// [E, H] -> [E, H]
torch::Tensor DropEdges(const AttentionEdges& edges, const torch::Tensor& weights, const EdgeDropout& dropout);
// [E, H], [N, H * C] -> [D, H * C]
torch::Tensor WeightedSegmentSum(const AttentionEdges& edges, const torch::Tensor& weights,
                                 const torch::Tensor& source);

}  // namespace espalier::trainer
