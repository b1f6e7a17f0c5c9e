// Kernels of graph attention: scores of edges, a softmax over the in-edges of each destination, and weighted sums. The
// kernels are loops over arrays of f32 that do not depend on torch; trainer/ops/attention_ops.h has their autograd
// functions for libtorch.
//
// A matrix of H heads with D columns each is f32 [rows, H * D], head h in columns [h * D, (h + 1) * D). Values of edges
// are f32 [edges, H] in the order of the segments. As in segments.h, one thread computes each output row and reads the
// row's edges in a fixed order; gradients of sources are sums over the transposed edges, without scattered writes.
// Hence results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "services/kernels/segments.h"

namespace espalier::kernels {

struct HeadShape {
  int64_t heads = 1;
  int64_t columns = 1;  // of each head

  int64_t width() const { return heads * columns; }
};

// The edges of a block, by destination and by source. Row s of `by_source` holds the destinations of the out-edges of
// s; positions[k] is the position in `segments` of the k-th edge of `by_source`.
struct EdgeView {
  Segments segments;
  Segments by_source;
  std::span<const uint32_t> positions;
};

// GAT: computes scores[e, h] = LeakyReLU(source[s, h] + destination[d, h]) for each edge e from s to d. source f32
// [sources, H] and destination f32 [destinations, H] are dot products that the caller has computed (Velickovic et al.
// 2018, equation 3).
void AdditiveScores(const Segments& segments, int64_t heads, float negative_slope, const float* source,
                    const float* destination, float* scores);
// Computes of_source and of_destination, the gradients of the inputs of AdditiveScores, from `gradient`, f32 [E, H],
// the gradient of the scores. `slopes` f32 [E, H] is a buffer for the contributions of edges.
void AdditiveScoreGradients(const EdgeView& edges, int64_t heads, float negative_slope, const float* source,
                            const float* destination, const float* gradient, float* slopes, float* of_source,
                            float* of_destination);

// GATv2: computes scores[e, h] = sum over columns j of attention[h, j] *
// LeakyReLU(source[s, h, j] + destination[d, h, j]) (Brody, Alon, Yahav 2022, equation 7).
void DynamicScores(const Segments& segments, HeadShape shape, float negative_slope, const float* source,
                   const float* destination, const float* attention, float* scores);
// Computes the gradients of the inputs of DynamicScores. of_attention_by_chunk gets the partial sums of the gradient of
// `attention`, f32 [NumChunks(destinations), H * D], over chunks of destinations (row_ranges.h).
void DynamicScoreGradients(const EdgeView& edges, HeadShape shape, float negative_slope, const float* source,
                           const float* destination, const float* attention, const float* gradient, float* of_source,
                           float* of_destination, float* of_attention_by_chunk);

// Computes the softmax weights[e, h] = exp(scores[e, h] - m) / sum of exp(scores[f, h] - m) over the edges f with the
// same destination as e, where m is the maximum of scores[f, h].
void SoftmaxOverSegments(const Segments& segments, int64_t heads, const float* scores, float* weights);
// Computes of_scores[e, h] = weights[e, h] * (gradient[e, h] - the sum of weights[f, h] * gradient[f, h] over the edges
// f with the same destination as e).
void SoftmaxOverSegmentsGradient(const Segments& segments, int64_t heads, const float* weights, const float* gradient,
                                 float* of_scores);

// Computes dots[e, h] = source[s, h, :] . destination[d, h, :] for each edge e from s to d (Vaswani et al. 2017,
// without the scale).
void EdgeDots(const Segments& segments, HeadShape shape, const float* source, const float* destination, float* dots);

// Computes out[d, h, :] = the sum of weights[e, h] * source[s, h, :] over the edges e from any s to d; zeros for a
// destination without edges. If `positions` is not empty, the weights of the k-th edge are those at positions[k].
void WeightedSums(const Segments& segments, std::span<const uint32_t> positions, HeadShape shape, const float* weights,
                  const float* source, float* out);
// Computes the gradients of a call of WeightedSums(edges.segments, ...) with empty `positions`: of_weights f32 [E, H],
// of_source f32 [sources, H * D].
void WeightedSumGradients(const EdgeView& edges, HeadShape shape, const float* weights, const float* source,
                          const float* gradient, float* of_weights, float* of_source);

// Determines which attention weights a training step drops. The weight of edge (s, d) and head h is dropped with
// probability min(round(probability * 65536), 65535) / 65536, decided by Philox on (key, original IDs of s and d, h).
// Parallel edges are dropped together.
struct EdgeMasks {
  double probability = 0;  // < 1
  uint64_t key = 0;
  const int64_t* source_ids = nullptr;       // [sources]
  const int64_t* destination_ids = nullptr;  // [destinations]
};
// Sets factors[e, h]: 0 for dropped weights, DropoutScale(probability) for the others.
void EdgeDropoutFactors(const Segments& segments, int64_t heads, const EdgeMasks& masks, float* factors);

}  // namespace espalier::kernels
