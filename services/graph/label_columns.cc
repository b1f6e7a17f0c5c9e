#include "services/graph/label_columns.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "services/base/ascii.h"

namespace espalier::graph {
namespace {

bool IsLabelName(const std::string& column) {
  const std::string name = ToLowerAscii(column);
  if (name == "y") return true;
  for (const std::string_view word : {"label", "labels"}) {
    if (name == word) return true;
    if (!name.ends_with(word)) continue;
    const char before = name[name.size() - word.size() - 1];
    if (before == '-' || before == '_' || before == '.') return true;
  }
  return false;
}

}  // namespace

bool LabelColumns::MayLackValues(const std::string& column) const {
  if (std::find(complete.begin(), complete.end(), column) != complete.end()) return false;
  return std::find(labels.begin(), labels.end(), column) != labels.end() || IsLabelName(column);
}

bool HasMissingValues(const Tensor& column) {
  if (!IsFloating(column.dtype())) return false;
  const auto has_nan = []<class T>(std::span<const T> values) {
    return std::any_of(values.begin(), values.end(), [](T value) { return std::isnan(value); });
  };
  if (column.dtype() == DType::kF32) return has_nan(column.values<float>());
  if (column.dtype() == DType::kF64) return has_nan(column.values<double>());
  for (int64_t i = 0; i < column.num_elements(); ++i) {
    if (std::isnan(column.ValueAsDouble(i))) return true;
  }
  return false;
}

}  // namespace espalier::graph
