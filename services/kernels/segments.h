// Sums and maxima over segments of rows: what message passing on a block is made of. Loops over arrays of f32, without
// torch; their autograd for libtorch is in trainer/ops/segment_ops.h.
//
// Forward, a destination row adds up source rows named by its in-edges. Backward, a source row adds up the
// gradients of the destinations it went to: the same loop over the transposed block. Nothing is scattered, each
// output row is written by one thread in a fixed order, so results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::kernels {

// Row i is at data + i * stride.
struct ConstRows {
  const float* data = nullptr;
  int64_t stride = 0;
};
struct Rows {
  float* data = nullptr;
  int64_t stride = 0;
};

// Edges of row i: indices[indptr[i] .. indptr[i + 1]).
struct Segments {
  std::span<const uint32_t> indptr;
  std::span<const uint32_t> indices;

  int64_t num_rows() const { return static_cast<int64_t>(indptr.size()) - 1; }
};

// out[i] = result_scale[i] * (initial_scale[i] * initial[i] + sum over edges e of i: source_scale[s] * source[s], s =
// indices[e]). Scales are 1 where null. Rows from num_initial on start from zero. `out` must not overlap the others.
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

// out[i] = element-wise maximum of the sources of i, zeros where it has none; winners[i * width + j]: the edge
// that gave it, the first among equals (untouched where it has none). A NaN counts as the largest, as in torch's max.
void MaxSegments(const Segments& segments, int64_t width, ConstRows source, Rows out, uint32_t* winners);

// The edges by source: those of source s are [indptr[s], indptr[s + 1]), ascending in position.
struct TransposedSegments {
  std::vector<uint32_t> indptr;        // [sources + 1]
  std::vector<uint32_t> destinations;  // [edges] row of each
  std::vector<uint32_t> positions;     // [edges] position in the segments; empty unless asked for
};
enum class EdgePositions { kOmit, kKeep };
TransposedSegments Transpose(const Segments& segments, int64_t num_sources, EdgePositions positions);

// out[s, j] = sum of gradient[d, j] over the edges of s that won column j of their destination d.
void SumWonGradients(const Segments& by_source, std::span<const uint32_t> positions, int64_t width, ConstRows gradient,
                     const uint32_t* winners, Rows out);

}  // namespace espalier::kernels
