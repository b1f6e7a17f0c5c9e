// Graph attention over one block, with gradients. Shapes: N rows of sources, D rows of destinations, E edges, H heads
// with C columns each. All values are f32.
//
// Tensors may be on any device. On the CPU, the kernels of kernels/attention.h compute the result; on other devices,
// operations of torch do (edge_tensors.h), whose sums round differently.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "services/kernels/attention.h"
#include "services/trainer/ops/edge_tensors.h"

namespace espalier::trainer {

// The edges of a block, including self-loops if requested. Not thread-safe, because ToDevice changes a cache. Several
// operations share one copy of the edges, which autograd keeps as long as a backward pass needs it.
class AttentionEdges {
 public:
  // kAppended: each destination d gets a self-loop, an in-edge from source row d, after its other in-edges.
  enum class SelfEdges { kNone, kAppended };

  // Copies the segments. Sources are rows [0, num_sources). An object created under torch::NoGradGuard supports forward
  // passes only.
  AttentionEdges(const kernels::Segments& segments, int64_t num_sources, SelfEdges self_edges);

  kernels::EdgeView view() const;  // refers to this object's tensors
  int64_t num_rows() const { return indptr_.numel() - 1; }
  int64_t num_edges() const { return indices_.numel(); }
  int64_t num_sources() const { return num_sources_; }
  // Returns the edges on a device; copies them unless the previous call had the same device. The result is valid until
  // the next call with another device.
  const EdgeTensors& ToDevice(torch::Device device) const;

  // Appends the tensors of the edges to a list that autograd is to save.
  void AppendTensorsTo(torch::autograd::variable_list* saved) const;
  // Returns the edges whose tensors are the first ones of a saved list.
  static AttentionEdges FromSaved(const torch::autograd::variable_list& saved);

 private:
  AttentionEdges() = default;
  torch::Tensor indptr_, indices_, by_source_, destinations_, positions_;  // unsigned 32-bit words as i32
  int64_t num_sources_ = 0;
  mutable std::shared_ptr<const EdgeTensors> on_device_;  // null: no copy yet
};

// Determines which attention weights a training step drops. The weight of edge (s, d) and head h is dropped with
// probability p = min(round(probability * 65536), 65535) / 65536, decided by Philox on (key, original ids of s and d,
// h); kept weights are scaled by 1 / (1 - p). Parallel edges are dropped together.
struct EdgeDropout {
  double probability = 0;         // in [0, 1); 0: nothing is dropped
  uint64_t key = 0;               // RandomKey(seed, kAttentionDropout, epoch, step, layer, relation)
  torch::Tensor source_ids;       // i64 [at least N]
  torch::Tensor destination_ids;  // i64 [at least D]
};

// Returns LeakyReLU(source + destination) for each edge: [N, H], [D, H] -> [E, H].
torch::Tensor AdditiveEdgeScores(const AttentionEdges& edges, const torch::Tensor& source,
                                 const torch::Tensor& destination, double negative_slope);
// Returns the dot product of `attention` and LeakyReLU(source + destination) for each edge and head: [N, H * C],
// [D, H * C], attention [H, C] -> [E, H].
torch::Tensor DynamicEdgeScores(const AttentionEdges& edges, const torch::Tensor& source,
                                const torch::Tensor& destination, const torch::Tensor& attention,
                                double negative_slope);
// Returns the softmax over the edges of each destination: [E, H] -> [E, H].
torch::Tensor EdgeSoftmax(const AttentionEdges& edges, const torch::Tensor& scores);
// Returns the weights after dropout, or `weights` itself if the probability is 0: [E, H] -> [E, H].
torch::Tensor DropEdges(const AttentionEdges& edges, const torch::Tensor& weights, const EdgeDropout& dropout);
// Returns the weighted sum of the rows of each destination's sources: [E, H], [N, H * C] -> [D, H * C].
torch::Tensor WeightedSegmentSum(const AttentionEdges& edges, const torch::Tensor& weights,
                                 const torch::Tensor& source);

}  // namespace espalier::trainer
