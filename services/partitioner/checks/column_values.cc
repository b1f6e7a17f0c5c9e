#include "services/partitioner/checks/column_values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "services/base/parallel.h"
#include "services/graph/first_violation.h"

namespace espalier::partitioner {

std::string ElementText(const Tensor& column, int64_t element) {
  if (!IsFloating(column.dtype())) {
    if (column.dtype() == DType::kU64) return std::to_string(column.values<uint64_t>()[static_cast<size_t>(element)]);
    return std::to_string(column.ValueAsInt(element));
  }
  const double value = column.ValueAsDouble(element);
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-infinity" : "infinity";
  // std::to_chars without a precision writes the shortest text that reads back as the same number of its type.
  const bool is_plain = value == 0 || (std::abs(value) >= 1e-4 && std::abs(value) < 1e15);
  const std::chars_format format = is_plain ? std::chars_format::fixed : std::chars_format::scientific;
  std::array<char, 32> digits;
  const auto written = column.dtype() == DType::kF64
                           ? std::to_chars(digits.begin(), digits.end(), value, format)
                           : std::to_chars(digits.begin(), digits.end(), static_cast<float>(value), format);
  return std::string(digits.begin(), written.ptr);
}

std::optional<int64_t> FindBadWeight(const Tensor& column, int threads) {
  return WithElements(column, [&](const auto& value_at) {
    return graph::FirstViolation(threads, column.num_elements(), kCheapGrain, [&](int64_t i) {
      const double value = value_at(i);
      return !(value >= 0) || std::isinf(value);
    });
  });
}

std::optional<int64_t> FindBadFeature(const Tensor& column, int threads) {
  if (column.dtype() != DType::kF64) return std::nullopt;
  const std::span<const double> values = column.values<double>();
  return graph::FirstViolation(threads, column.num_elements(), kCheapGrain, [&](int64_t i) {
    const double value = values[static_cast<size_t>(i)];
    return std::isfinite(value) && std::isinf(static_cast<float>(value));
  });
}

std::optional<int64_t> FindBadTime(const Tensor& column, int threads) {
  if (column.dtype() != DType::kU64) return std::nullopt;
  const std::span<const uint64_t> times = column.values<uint64_t>();
  return graph::FirstViolation(threads, column.num_elements(), kCheapGrain, [&](int64_t i) {
    return times[static_cast<size_t>(i)] > uint64_t{std::numeric_limits<int64_t>::max()};
  });
}

bool HasPositive(const Tensor& column, int threads) {
  return WithElements(column, [&](const auto& value_at) {
    return graph::FirstViolation(threads, column.num_elements(), kCheapGrain,
                                 [&](int64_t i) { return value_at(i) > 0; })
        .has_value();
  });
}

}  // namespace espalier::partitioner
