#include "services/sampler/routing/reduction_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "services/base/exact_sum.h"

namespace espalier::sampler {
namespace {

bool IsExactSum(Reduction reduction, DType dtype) { return reduction == Reduction::kSum && IsFloating(dtype); }

// Combines the values of two partitions. The result is NaN if one value is NaN, as within a partition.
template <class T>
T MergeValues(Reduction reduction, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
    // +0 and -0 compare equal: the sign decides, not the order of partitions.
    if (a == b) return std::signbit(a) == (reduction == Reduction::kMin) ? a : b;
  }
  switch (reduction) {
    case Reduction::kMin: return std::min(a, b);
    case Reduction::kMax: return std::max(a, b);
    case Reduction::kCountNonzero:
    case Reduction::kSum: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;  // floating-point sums arrive as ExactSums and never get here
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}

template <class T>
Tensor MergeParts(Reduction reduction, const std::vector<int64_t>& row_shape, std::span<const Tensor> parts) {
  std::vector<T> merged(parts[0].values<T>().begin(), parts[0].values<T>().end());
  for (const Tensor& part : parts.subspan(1)) {
    const std::span<const T> values = part.values<T>();
    for (size_t i = 0; i < merged.size(); ++i) merged[i] = MergeValues(reduction, merged[i], values[i]);
  }
  if constexpr (std::is_floating_point_v<T>) {
    // All NaNs become the same NaN.
    for (T& value : merged) value = std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
  }
  return Tensor::FromVector(std::move(merged), row_shape);
}

Tensor RoundSums(const std::vector<int64_t>& row_shape, std::span<const Tensor> parts) {
  std::vector<double> sums(RowElements(row_shape));
  for (size_t element = 0; element < sums.size(); ++element) {
    ExactSum sum;
    for (const Tensor& part : parts) {
      sum.Add(ExactSum::FromWords(part.values<int64_t>().subspan(element * ExactSum::kWords, ExactSum::kWords)));
    }
    sums[element] = sum.Rounded();
  }
  return Tensor::FromVector(std::move(sums), row_shape);
}

}  // namespace

Status CheckReductionPart(Reduction reduction, DType dtype, const std::vector<int64_t>& row_shape, const Tensor& part) {
  const bool exact = IsExactSum(reduction, dtype);
  std::vector<int64_t> shape = {static_cast<int64_t>(RowElements(row_shape))};
  if (exact) shape.push_back(static_cast<int64_t>(ExactSum::kWords));
  if (part.dtype() == (exact ? DType::kI64 : ReducedDType(reduction, dtype)) && part.shape() == shape) return Status();
  return Internal("a partition's part of a reduction of " + std::string(ToString(dtype)) +
                  " has the unexpected dtype or shape " + part.ToString());
}

Result<Tensor> CombineReductionParts(Reduction reduction, DType dtype, const std::vector<int64_t>& row_shape,
                                     std::span<const Tensor> parts) {
  for (const Tensor& part : parts) RETURN_IF_ERROR(CheckReductionPart(reduction, dtype, row_shape, part));
  if (IsExactSum(reduction, dtype)) return RoundSums(row_shape, parts);
  switch (ReducedDType(reduction, dtype)) {
    case DType::kF64: return MergeParts<double>(reduction, row_shape, parts);
    case DType::kI64: return MergeParts<int64_t>(reduction, row_shape, parts);
    default: return MergeParts<uint64_t>(reduction, row_shape, parts);
  }
}

}  // namespace espalier::sampler
