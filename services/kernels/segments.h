// Sums and maxima over segments of rows, the kernels of message passing on a block. The kernels are loops over f32
// arrays, without torch; trainer/ops/segment_ops.h has their autograd functions for libtorch.
//
// In the forward pass of a sum, a destination row adds up the source rows of its in-edges. In the backward pass, a
// source row adds up the gradients of its destinations with the same loop over the transposed block. There are no
// scattered writes: each output row is computed by a single thread, which reads the row's edges in a fixed order, so
// results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::kernels {

// A matrix whose row i is at data + i * stride.
struct ConstRows {
  const float* data = nullptr;
  int64_t stride = 0;
};
struct Rows {
  float* data = nullptr;
  int64_t stride = 0;
};

// Edges grouped by row (CSR): those of row i are indices[indptr[i] .. indptr[i + 1]).
struct Segments {
  std::span<const uint32_t> indptr;
  std::span<const uint32_t> indices;

  int64_t num_rows() const { return static_cast<int64_t>(indptr.size()) - 1; }
};

// The arguments of SumSegments, which computes
//   out[i] = result_scale[i] * (initial_scale[i] * initial[i] + sum over i's edges e of source_scale[s] * source[s])
// where s = indices[e]. Null scales are 1; initial[i] is 0 for i >= num_initial. `out` must not overlap the inputs.
struct SegmentSumArguments {
  Segments segments;
  int64_t width = 0;
  ConstRows source;
  const float* source_scale = nullptr;
  ConstRows initial;
  const float* initial_scale = nullptr;
  int64_t num_initial = 0;
  const float* result_scale = nullptr;
  Rows out;
};
void SumSegments(const SegmentSumArguments& arguments);

// Computes out[i] = element-wise maximum of the sources of i, zeros if i has no edges. Sets winners[i * width + j] to
// the position in segments.indices of the edge with the maximum, the first of equal ones; does not write it if row i
// has no edges. NaN counts as the largest, as in torch's max; of several NaNs, the last one wins.
void MaxSegments(const Segments& segments, int64_t width, ConstRows source, Rows out, uint32_t* winners);

// The edges grouped by source: those of source s are [indptr[s], indptr[s + 1]), in the order of Segments::indices.
struct TransposedSegments {
  std::vector<uint32_t> indptr;        // [sources + 1]
  std::vector<uint32_t> destinations;  // [edges] row of each edge
  std::vector<uint32_t> positions;     // [edges] position in Segments::indices; empty with EdgePositions::kOmit
};
enum class EdgePositions { kOmit, kKeep };
// Returns the edges of `segments` grouped by source. `num_sources` is the number of source rows.
TransposedSegments Transpose(const Segments& segments, int64_t num_sources, EdgePositions positions);

// Backward pass of MaxSegments: computes out[s, j] = sum of gradient[d, j] over the edges (s, d) that are the winner of
// row d in column j. `by_source` consists of indptr and destinations of the result of Transpose with kKeep; `positions`
// are the positions of that result.
void SumWonGradients(const Segments& by_source, std::span<const uint32_t> positions, int64_t width, ConstRows gradient,
                     const uint32_t* winners, Rows out);

}  // namespace espalier::kernels
