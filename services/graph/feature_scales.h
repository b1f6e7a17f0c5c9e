// Features in I8: an element of a row is stored as the integer q and stands for q * scale, with one scale for each
// element of a row ("column"), so features take a quarter of the memory, disk and network of F32. Processes that
// partition a graph compute the scales and the integers; readers of rows widen them to F32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/tensor.h"

namespace espalier::graph {

// The largest integer that is stored; the smallest is -kLargestScaled.
inline constexpr int kLargestScaled = 127;

// Returns the largest magnitude of each element of a row, over the rows [first, last) of a floating column [n, ...]:
// as many values as a row has elements, 0 without rows. With `normalizes_rows` the values are those after division of
// each row by its sum (FeatureConversion). InvalidArgument names the first row with a value that is not finite in F32,
// or if the column does not hold features.
Result<std::vector<double>> FindLargestMagnitudes(const Tensor& column, bool normalizes_rows, uint64_t first,
                                                  uint64_t last, int threads);

// Returns the scale of each element of a row: its largest magnitude / 127 in F32, and 1 where all values are 0. The
// magnitudes must be finite in F32.
std::vector<float> ComputeScales(std::span<const double> largest);

// Returns the column in I8: quotients by the scales in double, after division of each row by its sum if
// `normalizes_rows`, rounded once to the nearest integer, ties to even. The distance to the value is at most half a
// scale. The column must have passed FindLargestMagnitudes, and its values must not exceed those of the scales.
Tensor ScaleToIntegers(const Tensor& column, bool normalizes_rows, std::span<const float> scales, int threads);

// Writes rows of I8 to `out` in F32: q * scale. rows.size() is a multiple of scales.size(), and out.size() equals it.
void WidenIntegers(std::span<const int8_t> rows, std::span<const float> scales, int threads, std::span<float> out);
// Returns rows of I8 [n, ...] in F32 with the same shape. scales.size() must be the number of elements of a row.
Tensor WidenIntegers(const Tensor& rows, std::span<const float> scales, int threads);

// Returns InvalidArgument unless there is one finite, positive scale for each of the `width` elements of a row of
// `dtype`, which must be I8. For scales that come from a file or from another process.
Status CheckScales(DType dtype, uint64_t width, std::span<const float> scales);

}  // namespace espalier::graph
