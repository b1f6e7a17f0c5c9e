#include "services/graph/feature_conversion.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "services/graph/first_violation.h"
#include "services/graph/floating_elements.h"

namespace espalier::graph {
namespace {

using floating::RowDivisor;
using floating::VisitFloating;

constexpr int64_t kRowGrain = 1 << 10;

struct Rows {
  int64_t first = 0;
  int64_t count = 0;
  std::byte* converted = nullptr;  // receives the results; null: results are only checked
};

// Returns the first row with a result that is not finite, counted from rows.first. Unless rows are normalized, elements
// that are already NaN or infinite in the column do not count.
template <class From, class To>
std::optional<int64_t> Convert(const Tensor& column, bool normalizes, const Rows& rows, int threads) {
  const size_t width = column.row_bytes() / sizeof(typename From::Stored);
  const auto* from =
      reinterpret_cast<const typename From::Stored*>(column.bytes()) + static_cast<size_t>(rows.first) * width;
  auto* to = reinterpret_cast<typename To::Stored*>(rows.converted);
  return FirstViolation(threads, rows.count, kRowGrain, [=](int64_t row) {
    const size_t begin = static_cast<size_t>(row) * width;
    const double divisor = normalizes ? RowDivisor<From>(from + begin, width) : 1;
    bool is_finite = true;
    for (size_t j = begin; j < begin + width; ++j) {
      const double value = From::Load(from[j]);
      const typename To::Stored result = To::Store(value / divisor);
      if (to != nullptr) to[j] = result;
      const bool is_missing = !normalizes && !std::isfinite(value);
      is_finite = is_finite && (is_missing || std::isfinite(To::Load(result)));
    }
    return !is_finite;
  });
}

Status ConvertRows(const Tensor& column, const FeatureConversion& conversion, const Rows& rows, int threads) {
  if (column.empty()) return {};
  const DType dtype = conversion.dtype.value_or(column.dtype());
  ESPALIER_CHECK(IsFloating(dtype)) << "features of " << ToString(dtype) << " need scales (feature_scales.h)";
  const std::optional<int64_t> bad = VisitFloating(column.dtype(), [&]<class From>(From) {
    return VisitFloating(
        dtype, [&]<class To>(To) { return Convert<From, To>(column, conversion.normalizes_rows, rows, threads); });
  });
  if (!bad) return {};
  return InvalidArgument("row " + std::to_string(rows.first + *bad) +
                         (conversion.normalizes_rows ? " divided by its sum" : "") + " is not finite in " +
                         ToString(dtype));
}

bool IsChanged(const Tensor& column, const FeatureConversion& conversion) {
  return conversion.normalizes_rows || conversion.dtype.value_or(column.dtype()) != column.dtype();
}

}  // namespace

Status CheckHasFeatures(const Tensor& column) {
  if (IsFloating(column.dtype()) && column.shape().size() >= 2) return {};
  return InvalidArgument(column.ToString() +
                         " holds no features: expected F16, BF16, F32 or F64 with two or more dimensions");
}

Result<Tensor> ConvertFeatures(const Tensor& column, const FeatureConversion& conversion, int threads) {
  RETURN_IF_ERROR(CheckHasFeatures(column));
  if (!IsChanged(column, conversion)) return column;
  Tensor converted = Tensor::Zeros(conversion.dtype.value_or(column.dtype()), column.shape());
  RETURN_IF_ERROR(
      ConvertRows(column, conversion, {.count = column.num_rows(), .converted = converted.mutable_bytes()}, threads));
  return converted;
}

Status CheckFeaturesConvert(const Tensor& column, const FeatureConversion& conversion, uint64_t first, uint64_t last,
                            int threads) {
  RETURN_IF_ERROR(CheckHasFeatures(column));
  if (!IsChanged(column, conversion)) return {};
  return ConvertRows(column, conversion,
                     {.first = static_cast<int64_t>(first), .count = static_cast<int64_t>(last - first)}, threads);
}

bool HoldsFeatures(const std::string& name, const Tensor& column, const std::vector<std::string>& label_columns) {
  const bool is_label = std::count(label_columns.begin(), label_columns.end(), name) > 0;
  return !is_label && IsFloating(column.dtype()) && column.shape().size() >= 2;
}

}  // namespace espalier::graph
