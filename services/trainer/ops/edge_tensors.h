// Differentiable message passing with operations of torch, which run on every device. segment_ops.h and
// attention_ops.h use it for tensors that are not on the CPU. Shapes: N rows of sources, D rows of destinations,
// E edges, W columns. All values are f32.
//
// Every sum is over the consecutive edges of one destination, in a fixed order; for gradients of sources, over the
// consecutive edges of one source in the transposed block. No operation uses atomic additions, so results are bitwise
// equal in every run on one type of GPU.
#pragma once

#include <torch/torch.h>

#include "services/kernels/segments.h"

namespace espalier::trainer {

// The edges of a block on a device. Row and edge numbers are stored as i32, so they must be below 2^31.
struct EdgeTensors {
  torch::Tensor indptr;        // i32 [D + 1]
  torch::Tensor sources;       // i32 [E]
  torch::Tensor destinations;  // i32 [E]
  // The same edges, ordered by source. Undefined unless gradients are needed.
  torch::Tensor by_source;               // i32 [N + 1], their indptr
  torch::Tensor destinations_by_source;  // i32 [E]
  torch::Tensor positions;               // i32 [E], the index of each of these edges in `sources`
};

// Copies the edges to a device; also their transpose (the edges by source) if `wants_gradient`.
EdgeTensors ToEdgeTensors(const kernels::Segments& segments, int64_t num_sources, torch::Device device,
                          bool wants_gradient);
// Does the same with a transpose that the caller has computed: `by_source`, and the positions of its edges in
// `segments`. If both are empty, the result has no transpose.
EdgeTensors ToEdgeTensors(const kernels::Segments& segments, const kernels::Segments& by_source,
                          std::span<const uint32_t> positions, torch::Device device);

// Returns the sum of the rows of each destination's sources, zeros if there are none: [N, W] -> [D, W].
torch::Tensor SumSources(const EdgeTensors& edges, const torch::Tensor& x);
// Returns the element-wise maximum of the rows of each destination's sources, zeros if there are none: [N, W] ->
// [D, W]. NaN counts as the largest. The first edge with the maximum gets the gradient.
torch::Tensor MaxSources(const EdgeTensors& edges, const torch::Tensor& x);

// Returns the row of each edge's source: [N, W] -> [E, W].
torch::Tensor SourceRows(const EdgeTensors& edges, const torch::Tensor& x);
// Returns the row of each edge's destination: [D, W] -> [E, W].
torch::Tensor DestinationRows(const EdgeTensors& edges, const torch::Tensor& x);
// Returns the sum over the edges of each destination: [E, W] -> [D, W].
torch::Tensor SumEdges(const EdgeTensors& edges, const torch::Tensor& values);
// Returns the softmax over the edges of each destination: [E, W] -> [E, W].
torch::Tensor SoftmaxOverEdges(const EdgeTensors& edges, const torch::Tensor& scores);

}  // namespace espalier::trainer
