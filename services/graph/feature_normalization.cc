#include "services/graph/feature_normalization.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "services/graph/first_violation.h"

namespace espalier::graph {
namespace {

constexpr int64_t kRowGrain = 1 << 10;

// Elements as stored and as numbers.
struct F64 {
  using Stored = double;
  static double Load(double value) { return value; }
  static double Store(double value) { return value; }
};
struct F32 {
  using Stored = float;
  static double Load(float value) { return static_cast<double>(value); }
  static float Store(double value) { return static_cast<float>(value); }
};
struct F16 {
  using Stored = uint16_t;
  static double Load(uint16_t bits) { return static_cast<double>(HalfToFloat(bits)); }
  static uint16_t Store(double value) { return FloatToHalf(static_cast<float>(value)); }
};
struct BF16 {
  using Stored = uint16_t;
  static double Load(uint16_t bits) { return static_cast<double>(BFloat16ToFloat(bits)); }
  static uint16_t Store(double value) { return FloatToBFloat16(static_cast<float>(value)); }
};

// Rows to divide by their sums.
struct Rows {
  int64_t first = 0;
  int64_t count = 0;
  std::byte* quotients = nullptr;  // of these rows; null: they are not kept
};

// The first row with a quotient that is not finite.
template <class Element>
std::optional<int64_t> Divide(const Tensor& column, const Rows& rows, int threads) {
  using Stored = typename Element::Stored;
  const size_t width = column.row_bytes() / sizeof(Stored);
  const auto* from = reinterpret_cast<const Stored*>(column.bytes()) + static_cast<size_t>(rows.first) * width;
  auto* to = reinterpret_cast<Stored*>(rows.quotients);
  return FirstViolation(threads, rows.count, kRowGrain, [=](int64_t row) {
    const size_t begin = static_cast<size_t>(row) * width;
    double sum = 0;
    for (size_t j = begin; j < begin + width; ++j) sum += Element::Load(from[j]);
    const double divisor = sum == 0 ? 1 : sum;
    bool finite = true;
    for (size_t j = begin; j < begin + width; ++j) {
      const Stored quotient = Element::Store(Element::Load(from[j]) / divisor);
      if (to != nullptr) to[j] = quotient;
      finite = finite && std::isfinite(Element::Load(quotient));
    }
    return !finite;
  });
}

Status DivideRows(const Tensor& column, const Rows& rows, int threads) {
  if (column.empty()) return {};
  std::optional<int64_t> bad;
  if (column.dtype() == DType::kF64) bad = Divide<F64>(column, rows, threads);
  if (column.dtype() == DType::kF32) bad = Divide<F32>(column, rows, threads);
  if (column.dtype() == DType::kF16) bad = Divide<F16>(column, rows, threads);
  if (column.dtype() == DType::kBF16) bad = Divide<BF16>(column, rows, threads);
  if (!bad) return {};
  return InvalidArgument("row " + std::to_string(rows.first + *bad) + " divided by its sum is not finite in " +
                         ToString(column.dtype()));
}

Status CheckCanBeNormalized(const Tensor& column) {
  if (IsFloating(column.dtype()) && column.shape().size() >= 2) return {};
  return InvalidArgument("rows of " + column.ToString() +
                         " cannot be normalised: expected F16, BF16, F32 or F64, two or more dimensions");
}

}  // namespace

Result<Tensor> NormalizedRows(const Tensor& column, int threads) {
  RETURN_IF_ERROR(CheckCanBeNormalized(column));
  Tensor quotients = Tensor::Zeros(column.dtype(), column.shape());
  RETURN_IF_ERROR(DivideRows(column, {.count = column.num_rows(), .quotients = quotients.mutable_bytes()}, threads));
  return quotients;
}

Status CheckRowsNormalize(const Tensor& column, uint64_t first, uint64_t last, int threads) {
  RETURN_IF_ERROR(CheckCanBeNormalized(column));
  return DivideRows(column, {.first = static_cast<int64_t>(first), .count = static_cast<int64_t>(last - first)},
                    threads);
}

bool HoldsFeatures(const std::string& name, const Tensor& column, const std::vector<std::string>& label_columns) {
  const bool is_label = std::count(label_columns.begin(), label_columns.end(), name) > 0;
  return !is_label && IsFloating(column.dtype()) && column.shape().size() >= 2;
}

}  // namespace espalier::graph
