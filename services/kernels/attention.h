// Kernels of graph attention, edge by edge: scores, a softmax over each destination's in-edges, and sums weighted
// by it. Loops over arrays of f32, without torch; their autograd for libtorch is in trainer/ops/attention_ops.h.
//
// A matrix of H heads with D columns each is f32 [rows, H * D], head h in columns [h * D, (h + 1) * D). What belongs to
// edges is f32 [edges, H] in the order of the segments. As in segments.h every output row is written by one
// thread in a fixed order: gradients of sources are sums over the transposed edges, nothing is scattered, and results
// do not depend on the number of threads.
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

// The edges of a block from both ends. In `by_source` row s holds the destinations of the edges that leave s, and
// positions[k] says where the segments hold the k-th of these edges.
struct EdgeView {
  Segments segments;
  Segments by_source;
  std::span<const uint32_t> positions;
};

// scores[e, h] = LeakyReLU(source[s, h] + destination[d, h]) for edge e from s to d. source f32 [N, H], destination
// f32 [D, H], dense. (Velickovic et al. 2018, equation 3, where the dot products are taken before.)
void AdditiveScores(const Segments& segments, int64_t heads, float negative_slope, const float* source,
                    const float* destination, float* scores);
// Its gradients. `slopes` f32 [E, H] is room for what one edge contributes.
void AdditiveScoreGradients(const EdgeView& edges, int64_t heads, float negative_slope, const float* source,
                            const float* destination, const float* gradient, float* slopes, float* of_source,
                            float* of_destination);

// scores[e, h] = sum over columns j: attention[h, j] * LeakyReLU(source[s, h, j] + destination[d, h, j]). (Brody, Alon,
// Yahav 2022, equation 7.)
void DynamicScores(const Segments& segments, HeadShape shape, float negative_slope, const float* source,
                   const float* destination, const float* attention, float* scores);
// Its gradients, of_attention as partial sums [NumChunks(D), H * D] of chunks of destinations (row_ranges.h).
void DynamicScoreGradients(const EdgeView& edges, HeadShape shape, float negative_slope, const float* source,
                           const float* destination, const float* attention, const float* gradient, float* of_source,
                           float* of_destination, float* of_attention_by_chunk);

// weights[e, h] = exp(scores[e, h] - m) / sum over the edges of the same destination, m their maximum.
void SoftmaxOverSegments(const Segments& segments, int64_t heads, const float* scores, float* weights);
// of_scores[e, h] = weights[e, h] * (gradient[e, h] - sum over the same destination of weights * gradient).
void SoftmaxOverSegmentsGradient(const Segments& segments, int64_t heads, const float* weights, const float* gradient,
                                 float* of_scores);

// dots[e, h] = source[s, h, :] . destination[d, h, :] for edge e from s to d. (Vaswani et al. 2017, without the scale.)
void EdgeDots(const Segments& segments, HeadShape shape, const float* source, const float* destination, float* dots);

// out[d, h, :] = sum over edges e of d: weights[e, h] * source[s, h, :]; zeros where a destination has no edges. With
// `positions`, the weights of the k-th edge are those at positions[k].
void WeightedSums(const Segments& segments, std::span<const uint32_t> positions, HeadShape shape, const float* weights,
                  const float* source, float* out);
void WeightedSumGradients(const EdgeView& edges, HeadShape shape, const float* weights, const float* source,
                          const float* gradient, float* of_weights, float* of_source);

// Which weights a training step drops: that of edge (s, d) and head h with probability round(p * 65536) / 65536, by
// Philox on (key, original ids of s and d, h). Parallel edges share their fate.
struct EdgeMasks {
  double probability = 0;  // < 1
  uint64_t key = 0;
  const int64_t* source_ids = nullptr;       // [N]
  const int64_t* destination_ids = nullptr;  // [D]
};
// factors[e, h]: 0 for what is dropped, KeptScale(probability) for the rest.
void EdgeDropoutFactors(const Segments& segments, int64_t heads, const EdgeMasks& masks, float* factors);

}  // namespace espalier::kernels
