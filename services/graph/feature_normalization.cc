#include "services/graph/feature_normalization.h"

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

// The first row with a quotient that is not finite.
template <class Element>
std::optional<int64_t> Divide(const Tensor& column, Tensor& quotients, int threads) {
  using Stored = typename Element::Stored;
  const auto* from = reinterpret_cast<const Stored*>(column.bytes());
  auto* to = reinterpret_cast<Stored*>(quotients.mutable_bytes());
  const size_t width = column.row_bytes() / sizeof(Stored);
  return FirstViolation(threads, column.num_rows(), kRowGrain, [=](int64_t row) {
    const size_t begin = static_cast<size_t>(row) * width;
    double sum = 0;
    for (size_t j = begin; j < begin + width; ++j) sum += Element::Load(from[j]);
    const double divisor = sum == 0 ? 1 : sum;
    bool finite = true;
    for (size_t j = begin; j < begin + width; ++j) {
      to[j] = Element::Store(Element::Load(from[j]) / divisor);
      finite = finite && std::isfinite(Element::Load(to[j]));
    }
    return !finite;
  });
}

}  // namespace

Result<Tensor> NormalizedRows(const Tensor& column, int threads) {
  if (!IsFloating(column.dtype()) || column.shape().size() < 2) {
    return InvalidArgument("rows of " + column.ToString() +
                           " cannot be normalised: expected F16, BF16, F32 or F64, two dimensions");
  }
  Tensor quotients = Tensor::Zeros(column.dtype(), column.shape());
  if (column.empty()) return quotients;
  std::optional<int64_t> bad;
  if (column.dtype() == DType::kF64) bad = Divide<F64>(column, quotients, threads);
  if (column.dtype() == DType::kF32) bad = Divide<F32>(column, quotients, threads);
  if (column.dtype() == DType::kF16) bad = Divide<F16>(column, quotients, threads);
  if (column.dtype() == DType::kBF16) bad = Divide<BF16>(column, quotients, threads);
  if (bad) {
    return InvalidArgument("row " + std::to_string(*bad) + " divided by its sum is not finite in " +
                           NameOf(column.dtype()));
  }
  return quotients;
}

}  // namespace espalier::graph
