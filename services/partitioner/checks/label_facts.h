// What the rows of a split hold in a column that a job may take for labels.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/manifest.h"
#include "services/job/dist_training.h"
#include "services/partitioner/checks/value_errors.h"

namespace espalier::partitioner {

// How a task reads its labels: a class, a 0 or 1 of each class (multiLabel), or numbers (regression).
enum class LabelKind { kClass, kFlags, kNumber };
LabelKind KindOfLabels(const job::Task& task);

// Which values a label column may hold, and which of them are labels.
struct LabelRule {
  std::function<bool(double)> fits;
  std::function<bool(double)> is_label;
  std::string expected;
  std::string missing;  // the values that mean "no label"
};
LabelRule RuleFor(LabelKind kind);

// The element of the first value of a row that is no label and does not mean "no label".
template <class ValueAt>
std::optional<int64_t> FindWrongValue(int64_t row, int64_t width, const LabelRule& rule, const ValueAt& value_at) {
  for (int64_t at = row * width; at < (row + 1) * width; ++at) {
    if (!rule.fits(value_at(at))) return at;
  }
  return std::nullopt;
}

// `parts`: the rows of train, validation and test. Rows that the column does not have are not looked at.
format::LabelFacts CollectLabelFacts(LabelKind kind, const Tensor& column,
                                     const std::vector<std::span<const uint64_t>>& parts, int threads);
format::SplitLabels CollectSplitLabels(const Tensor& column, const std::vector<std::span<const uint64_t>>& parts,
                                       int threads);
const format::LabelFacts& SelectFacts(LabelKind kind, const format::SplitLabels& labels);

// Returns InvalidArgument where the task cannot train by such labels: the first wrong value, or no label in the
// training part, which has `num_training_rows`. `owner`: OwnerName.
Status CheckLabelFacts(const job::Task& task, const std::string& owner, const format::LabelFacts& facts,
                       uint64_t num_training_rows);
// The task's column of labels.
NamedColumn LabelColumn(const job::Task& task, const std::string& owner);

}  // namespace espalier::partitioner
