// Features in I8: element j of every row is stored as an integer q and has the value q * scales[j]. The features take a
// quarter of the memory, disk space and network traffic of F32. Processes that partition a graph compute the scales and
// the integers; readers of rows widen the integers to F32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/tensor.h"

namespace espalier::graph {

// The largest integer that is stored; the smallest is -kLargestScaled.
inline constexpr int kLargestScaled = 127;

// Returns for each j the largest magnitude of element j over the rows [first, last) of a floating column [n, ...],
// or 0 if first == last. With `normalizes_rows`, each row is divided by its sum first (FeatureConversion).
// InvalidArgument: a value is not finite in F32 (the message names the first such row), or the column does not hold
// features.
Result<std::vector<double>> FindLargestMagnitudes(const Tensor& column, bool normalizes_rows, uint64_t first,
                                                  uint64_t last, int threads);

// Returns the scale for each of the largest magnitudes: largest / 127 rounded to F32, and 1 for 0. The scale is the
// next larger F32 if otherwise an integer would exceed 127, and the next smaller one if 127 * scale would be infinite.
// The magnitudes must be finite in F32.
std::vector<float> ComputeScales(std::span<const double> largest);

// Returns the column in I8. Each value, divided by its row's sum if `normalizes_rows`, is divided by its scale in
// double and rounded once, to the nearest integer, ties to even. An integer times its scale differs from the value by
// at most half a scale. The magnitudes of the column must not exceed those from which the scales were computed.
Tensor ScaleToIntegers(const Tensor& column, bool normalizes_rows, std::span<const float> scales, int threads);

// Writes rows of I8 to `out` in F32: q * scale. rows.size() must be a multiple of scales.size() and equal to
// out.size() (checked).
void WidenIntegers(std::span<const int8_t> rows, std::span<const float> scales, int threads, std::span<float> out);
// Returns rows of I8 [n, ...] in F32 with the same shape. scales.size() must be the number of elements of a row.
Tensor WidenIntegers(const Tensor& rows, std::span<const float> scales, int threads);

// Returns InvalidArgument unless there is one finite, positive scale for each of the `width` elements of a row of
// `dtype`, which must be I8. For scales that come from a file or from another process.
Status CheckScales(DType dtype, uint64_t width, std::span<const float> scales);

}  // namespace espalier::graph
