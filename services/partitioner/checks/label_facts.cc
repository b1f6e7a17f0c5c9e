// A partitioning may be reused by a job that interprets the same column differently, so the properties of a column are
// collected for every kind of labels. Each kind is a LabelRule: two predicates on a value, and the words for messages.
#include "services/partitioner/checks/label_facts.h"

#include <cmath>
#include <functional>
#include <optional>

#include "services/base/parallel.h"
#include "services/graph/first_violation.h"
#include "services/job/label_limits.h"
#include "services/partitioner/checks/column_values.h"

namespace espalier::partitioner {
namespace {

// The values that a label column may contain. Some of them mean "no label".
struct LabelRule {
  std::function<bool(double)> is_allowed;
  std::function<bool(double)> is_label;  // meaningful only for allowed values
  std::string expected;                  // the allowed values, for messages
  std::string missing;                   // the values that mean "no label", for messages
};

LabelRule MakeLabelRule(LabelKind kind) {
  switch (kind) {
    case LabelKind::kNumber:
      return {[](double value) { return !std::isinf(static_cast<float>(value)); },
              [](double value) { return !std::isnan(value); }, "a finite 32-bit number, or NaN (no label)", "NaN"};
    case LabelKind::kFlags:
      return {[](double value) { return std::isnan(value) || value == 0 || value == 1 || value == -1; },
              [](double value) { return value >= 0; },
              "0, 1, or -1 or NaN (no label), because spec.training.task.multiLabel is true", "-1 or NaN"};
    case LabelKind::kClass: break;
  }
  return {[](double value) {
            const bool is_class = value == std::floor(value) && value >= -1 && value < double{job::kMaxLabelClasses};
            return std::isnan(value) || is_class;
          },
          [](double value) { return value >= 0; },
          "a class from 0 to " + std::to_string(job::kMaxLabelClasses - 1) + ", or -1 or NaN (no label)", "-1 or NaN"};
}

// Returns the index, among all elements of the column, of the first value of row `row` that is not allowed; nullopt if
// all values of the row are allowed.
template <class ValueAt>
std::optional<int64_t> FindWrongValue(int64_t row, int64_t width, const LabelRule& rule, const ValueAt& value_at) {
  for (int64_t at = row * width; at < (row + 1) * width; ++at) {
    if (!rule.is_allowed(value_at(at))) return at;
  }
  return std::nullopt;
}

// Describes the first value that is not allowed in the rows of `parts`; returns "" if all are allowed.
std::string DescribeFirstWrongValue(const LabelRule& rule, const Tensor& column,
                                    const std::vector<std::span<const uint64_t>>& parts, int threads) {
  const auto num_rows = static_cast<uint64_t>(column.num_rows());
  const int64_t width = column.num_elements() / column.num_rows();
  return WithElements(column, [&](const auto& value_at) -> std::string {
    for (const std::span<const uint64_t> rows : parts) {
      const std::optional<int64_t> wrong =
          graph::FirstViolation(threads, static_cast<int64_t>(rows.size()), kCheapGrain, [&](int64_t i) {
            const uint64_t id = rows[static_cast<size_t>(i)];
            return id < num_rows && FindWrongValue(static_cast<int64_t>(id), width, rule, value_at).has_value();
          });
      if (!wrong) continue;
      const auto id = static_cast<int64_t>(rows[static_cast<size_t>(*wrong)]);
      return DescribeElement(column, *FindWrongValue(id, width, rule, value_at));
    }
    return "";
  });
}

bool HasLabel(const LabelRule& rule, const Tensor& column, std::span<const uint64_t> rows, int threads) {
  const auto num_rows = static_cast<uint64_t>(column.num_rows());
  const int64_t width = column.num_elements() / column.num_rows();
  return WithElements(column, [&](const auto& value_at) {
    const auto first = graph::FirstViolation(threads, static_cast<int64_t>(rows.size()), kCheapGrain, [&](int64_t i) {
      const uint64_t id = rows[static_cast<size_t>(i)];
      if (id >= num_rows) return true;  // no error here: ValidateSourceGraph rejects the ID
      for (int64_t at = static_cast<int64_t>(id) * width; at < (static_cast<int64_t>(id) + 1) * width; ++at) {
        if (rule.is_label(value_at(at))) return true;
      }
      return false;
    });
    return first.has_value();
  });
}

format::LabelFacts CollectLabelFacts(LabelKind kind, const Tensor& column,
                                     const std::vector<std::span<const uint64_t>>& parts, int threads) {
  if (column.num_rows() == 0) return {};
  const LabelRule rule = MakeLabelRule(kind);
  return {.wrong = DescribeFirstWrongValue(rule, column, parts, threads),
          .has_label = parts.front().empty() || HasLabel(rule, column, parts.front(), threads)};
}

}  // namespace

LabelKind ToLabelKind(const job::Task& task) {
  const bool is_regression = task.type == job::TaskType::kNodeRegression || task.type == job::TaskType::kEdgeRegression;
  if (is_regression) return LabelKind::kNumber;
  return task.multi_label ? LabelKind::kFlags : LabelKind::kClass;
}

format::SplitLabels CollectSplitLabels(const Tensor& column, const std::vector<std::span<const uint64_t>>& parts,
                                       int threads) {
  return {.classes = CollectLabelFacts(LabelKind::kClass, column, parts, threads),
          .flags = CollectLabelFacts(LabelKind::kFlags, column, parts, threads),
          .numbers = CollectLabelFacts(LabelKind::kNumber, column, parts, threads)};
}

const format::LabelFacts& SelectFacts(LabelKind kind, const format::SplitLabels& labels) {
  switch (kind) {
    case LabelKind::kFlags: return labels.flags;
    case LabelKind::kNumber: return labels.numbers;
    case LabelKind::kClass: break;
  }
  return labels.classes;
}

Status CheckLabelFacts(const job::Task& task, const std::string& type, const format::LabelFacts& facts,
                       uint64_t num_training_rows) {
  const NamedColumn column{"spec.training.task.label", task.label, type};
  const LabelRule rule = MakeLabelRule(ToLabelKind(task));
  if (!facts.wrong.empty()) return WrongValue(column, facts.wrong, rule.expected);
  if (facts.has_label) return {};
  const std::string row = job::LabelsEdges(task.type) ? "edge" : "node";
  return InvalidArgument(column.field + ": no training " + row + " of split '" + task.split +
                         "' has a label in column '" + column.name + "' of " + type + ": all " +
                         std::to_string(num_training_rows) + " are " + rule.missing + ", which means no label");
}

}  // namespace espalier::partitioner
