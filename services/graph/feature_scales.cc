// Two passes over a column: the first finds, for each j, the largest magnitude of element j over all rows, and the
// first row that is not finite; the second rounds. Maxima do not depend on the order of the rows, so neither the number
// of threads nor the ranges that several processes read change the result. A scale is 1 if the largest magnitude is 0,
// otherwise the F32 nearest to largest / 127. In two cases it is a neighboring F32: the next larger one if an integer
// would exceed 127, because a subnormal scale was rounded down; the next smaller one if 127 * scale is infinite,
// because values are close to the largest F32.
#include "services/graph/feature_scales.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "services/base/mutex.h"
#include "services/base/parallel.h"
#include "services/graph/feature_conversion.h"
#include "services/graph/floating_elements.h"

namespace espalier::graph {
namespace {

constexpr int64_t kScaledRowGrain = 1 << 10;

// Returns whether a value of the column is finite after conversion to F32, the dtype that readers get.
bool IsFiniteInF32(double value) { return std::isfinite(static_cast<float>(value)); }

float ScaleFor(double largest) {
  if (largest == 0) return 1;
  auto scale = static_cast<float>(largest / kLargestScaled);
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  while (std::nearbyint(largest / static_cast<double>(scale)) > kLargestScaled)
    scale = std::nextafter(scale, kInfinite);
  if (!std::isfinite(static_cast<float>(kLargestScaled) * scale)) scale = std::nextafter(scale, 0.0F);
  return scale;
}

}  // namespace

Result<std::vector<double>> FindLargestMagnitudes(const Tensor& column, bool normalizes_rows, uint64_t first,
                                                  uint64_t last, int threads) {
  RETURN_IF_ERROR(CheckHasFeatures(column));
  const size_t width = column.row_bytes() / ItemSize(column.dtype());
  std::vector<double> largest(width, 0);
  if (width == 0 || first == last) return largest;
  int64_t first_bad = std::numeric_limits<int64_t>::max();
  Mutex mutex;
  floating::VisitFloating(column.dtype(), [&]<class From>(From) {
    const auto* from = reinterpret_cast<const typename From::Stored*>(column.bytes());
    ParallelFor(threads, static_cast<int64_t>(last - first), kScaledRowGrain, [&](int64_t begin, int64_t end) {
      std::vector<double> range_largest(width, 0);
      std::optional<int64_t> bad;
      for (int64_t row = begin; row < end && !bad; ++row) {
        const auto* const values = from + (first + static_cast<uint64_t>(row)) * width;
        const double divisor = normalizes_rows ? floating::RowDivisor<From>(values, width) : 1;
        for (size_t j = 0; j < width; ++j) {
          const double value = From::Load(values[j]) / divisor;
          if (!IsFiniteInF32(value)) bad = row;
          range_largest[j] = std::max(range_largest[j], std::fabs(value));
        }
      }
      MutexLock lock(&mutex);
      first_bad = std::min(first_bad, bad.value_or(first_bad));
      for (size_t j = 0; j < width; ++j) largest[j] = std::max(largest[j], range_largest[j]);
    });
  });
  if (first_bad == std::numeric_limits<int64_t>::max()) return largest;
  return InvalidArgument("row " + std::to_string(first + static_cast<uint64_t>(first_bad)) +
                         (normalizes_rows ? " divided by its sum" : "") +
                         " is not finite in F32: I8 has only finite values; correct the row, or choose another "
                         "feature data type");
}

std::vector<float> ComputeScales(std::span<const double> largest) {
  std::vector<float> scales(largest.size());
  std::transform(largest.begin(), largest.end(), scales.begin(), ScaleFor);
  return scales;
}

Tensor ScaleToIntegers(const Tensor& column, bool normalizes_rows, std::span<const float> scales, int threads) {
  ESPALIER_CHECK(IsFloating(column.dtype())) << column.ToString();
  Tensor integers = Tensor::Zeros(DType::kI8, column.shape());
  if (column.empty()) return integers;
  const size_t width = column.row_bytes() / ItemSize(column.dtype());
  ESPALIER_CHECK(scales.size() == width) << scales.size() << " scales for rows of " << width;
  int8_t* const to = integers.mutable_values<int8_t>().data();
  floating::VisitFloating(column.dtype(), [&]<class From>(From) {
    const auto* from = reinterpret_cast<const typename From::Stored*>(column.bytes());
    ParallelFor(threads, column.num_rows(), kScaledRowGrain, [&](int64_t begin, int64_t end) {
      for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
        const auto* const values = from + row * width;
        const double divisor = normalizes_rows ? floating::RowDivisor<From>(values, width) : 1;
        for (size_t j = 0; j < width; ++j) {
          const double value = From::Load(values[j]) / divisor;
          to[row * width + j] = static_cast<int8_t>(std::nearbyint(value / static_cast<double>(scales[j])));
        }
      }
    });
  });
  return integers;
}

void WidenIntegers(std::span<const int8_t> rows, std::span<const float> scales, int threads, std::span<float> out) {
  ESPALIER_CHECK(rows.size() == out.size()) << rows.size() << " integers, " << out.size() << " values";
  if (rows.empty()) return;
  const size_t width = scales.size();
  ESPALIER_CHECK(width > 0 && rows.size() % width == 0) << rows.size() << " integers in rows of " << width;
  const int64_t grain = std::max<int64_t>(1, kCheapGrain / static_cast<int64_t>(width));
  ParallelFor(threads, static_cast<int64_t>(rows.size() / width), grain, [&](int64_t begin, int64_t end) {
    for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
      const int8_t* const from = rows.data() + row * width;
      float* const to = out.data() + row * width;
      for (size_t j = 0; j < width; ++j) to[j] = static_cast<float>(from[j]) * scales[j];
    }
  });
}

Tensor WidenIntegers(const Tensor& rows, std::span<const float> scales, int threads) {
  Tensor wide = Tensor::Zeros(DType::kF32, rows.shape());
  WidenIntegers(rows.values<int8_t>(), scales, threads, wide.mutable_values<float>());
  return wide;
}

Status CheckScales(DType dtype, uint64_t width, std::span<const float> scales) {
  if (dtype != DType::kI8)
    return InvalidArgument(std::string("scales for values of ") + ToString(dtype) + ", expected I8");
  if (scales.size() != width) {
    return InvalidArgument(std::to_string(scales.size()) + " scales, expected one for each of the " +
                           std::to_string(width) + " elements of a row");
  }
  for (size_t j = 0; j < scales.size(); ++j) {
    if (std::isfinite(scales[j]) && scales[j] > 0) continue;
    return InvalidArgument("scale " + std::to_string(j) + " is " + std::to_string(scales[j]) +
                           ", expected a positive finite number");
  }
  return {};
}

}  // namespace espalier::graph
