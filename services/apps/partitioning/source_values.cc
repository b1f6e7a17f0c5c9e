#include "services/apps/partitioning/source_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "services/apps/partitioning/column_values.h"
#include "services/apps/partitioning/document_fit.h"
#include "services/apps/partitioning/value_errors.h"
#include "services/base/parallel.h"
#include "services/graph/first_violation.h"
#include "services/graph/partition.h"
#include "services/graph/preprocess.h"
#include "services/job/label_limits.h"
#include "services/job/sampling/edge_plan.h"

namespace espalier::partitioning {
namespace {

bool HasRows(const Tensor& column, uint64_t count) {
  return !column.shape().empty() && static_cast<uint64_t>(column.num_rows()) == count;
}

struct ColumnValues {
  NamedColumn column;
  const Tensor& values;
};

Status WrongElement(const ColumnValues& of, int64_t element, const std::string& expected) {
  return WrongValue(of.column, ElementFact(of.values, element), expected);
}

// Which values a label column may hold, and which of them are labels.
struct LabelRule {
  std::function<bool(double)> fits;
  std::function<bool(double)> is_label;
  std::string expected;
  std::string missing;  // the values that mean "no label"
};

LabelRule RuleOf(const job::Task& task) {
  const bool is_regression = task.type == job::TaskType::kNodeRegression || task.type == job::TaskType::kEdgeRegression;
  const auto is_number = [](double value) { return !std::isnan(value); };
  if (is_regression) {
    return {[](double value) { return !std::isinf(static_cast<float>(value)); }, is_number,
            "a finite 32-bit number, or NaN (no label)", "NaN"};
  }
  if (task.multi_label) {
    return {[](double value) { return std::isnan(value) || value == 0 || value == 1 || value == -1; },
            [](double value) { return value >= 0; },
            "0, 1, or -1 or NaN (no label), because spec.training.task.multiLabel is true", "-1 or NaN"};
  }
  return {[](double value) {
            const bool is_class = value == std::floor(value) && value >= -1 && value < double{job::kMostClasses};
            return std::isnan(value) || is_class;
          },
          [](double value) { return value >= 0; },
          "a class from 0 to " + std::to_string(job::kMostClasses - 1) + ", or -1 or NaN (no label)", "-1 or NaN"};
}

// The first value of a row that is no label and does not mean "no label".
template <class ValueAt>
std::optional<int64_t> WrongValueOf(int64_t row, int64_t width, const LabelRule& rule, const ValueAt& value_at) {
  for (int64_t at = row * width; at < (row + 1) * width; ++at) {
    if (!rule.fits(value_at(at))) return at;
  }
  return std::nullopt;
}

class ValueCheck {
 public:
  ValueCheck(const GraphNames& names, const graph::SourceGraph& source, const job::Preprocess& preprocess, int threads)
      : names_(names), source_(source), drops_duplicate_edges_(preprocess.drop_duplicate_edges), threads_(threads) {}

  Status CheckWeights(const job::Training& training) const {
    const std::string& name = training.sampling.draw.weight_column;
    if (name.empty()) return {};
    const std::vector<bool> is_drawn =
        DrawnEdgeTypes(training.sampling, names_.schema, SeedTypes(training.task, names_.schema));
    uint64_t num_weights = 0;
    bool has_weight = false;  // above 0
    for (uint16_t type = 0; type < source_.edges.size(); ++type) {
      const graph::EdgeSet& edges = source_.edges[type];
      const auto found = edges.columns.find(name);
      if (found == edges.columns.end() || !HasRows(found->second, edges.num_edges())) continue;
      const graph::CanonicalEdgeType& named = source_.schema.EdgeType(EdgeTypeId(type));
      if (!IsDrawn(named.Name(), is_drawn) && !IsDrawn(graph::ReverseRelationOf(named).Name(), is_drawn)) continue;
      const std::optional<int64_t> wrong = FindBadWeight(found->second, threads_);
      if (wrong) {
        return WrongElement({{kWeightField, name, OwnerName(EdgeTypeId(type), source_.schema)}, found->second}, *wrong,
                            kUsableWeight);
      }
      num_weights += edges.num_edges();
      has_weight = has_weight || HasPositive(found->second, threads_);
    }
    if (num_weights == 0 || has_weight) return {};
    return AllWeightsAreZero(name, num_weights);
  }

  Status CheckFeatures(const job::DistTraining& job) const {
    if (job.graph.preprocess.normalize_features != job::RowNormalization::kNone) return {};  // which divides them
    for (size_t i = 0; i < job.training.inputs.size(); ++i) {
      const job::Input& input = job.training.inputs[i];
      const Result<NodeTypeId> type =
          input.node_type.empty() ? source_.schema.OnlyNodeType() : source_.schema.FindNodeType(input.node_type);
      if (!type.ok()) continue;
      for (size_t f = 0; f < input.features.size(); ++f) {
        const auto found = source_.nodes[type->value].columns.find(input.features[f]);
        if (found == source_.nodes[type->value].columns.end() || found->second.dtype() != DType::kF64) continue;
        if (!HasRows(found->second, source_.nodes[type->value].count)) continue;
        const std::span<const double> values = found->second.values<double>();
        const std::optional<int64_t> wrong =
            graph::FirstViolation(threads_, found->second.num_elements(), kCheapGrain, [&](int64_t at) {
              const double value = values[static_cast<size_t>(at)];
              return std::isfinite(value) && std::isinf(static_cast<float>(value));
            });
        if (!wrong) continue;
        return WrongElement({{FeatureField(i, f), input.features[f], OwnerName(*type, source_.schema)}, found->second},
                            *wrong, "a number that 32 bits can hold");
      }
    }
    return {};
  }

  Status CheckLabels(const job::Task& task) const {
    if (task.type == job::TaskType::kLinkPrediction) return {};
    return job::LabelsEdges(task.type) ? CheckEdgeLabels(task) : CheckNodeLabels(task);
  }

  Status CheckSeedTimes(const job::Training& training) const {
    if (training.sampling.seed_time.empty() || job::IsOfEdges(training.task.type)) return {};
    const std::string& name = training.sampling.seed_time;
    const NodeTypeId type = SeedTypes(training.task, names_.schema).front();
    const graph::NodeSet& nodes = source_.nodes[type.value];
    const auto found = nodes.columns.find(name);
    if (found == nodes.columns.end() || !HasRows(found->second, nodes.count)) return {};
    if (found->second.dtype() != DType::kU64) return {};
    const std::span<const uint64_t> times = found->second.values<uint64_t>();
    const std::optional<int64_t> wrong = graph::FirstViolation(
        threads_, found->second.num_elements(), kCheapGrain,
        [&](int64_t i) { return times[static_cast<size_t>(i)] > uint64_t{std::numeric_limits<int64_t>::max()}; });
    if (!wrong) return {};
    return WrongElement({{"spec.training.sampling.seedTime", name, OwnerName(type, source_.schema)}, found->second},
                        *wrong, "a time below 2^63");
  }

 private:
  bool IsDrawn(const std::string& edge_type, const std::vector<bool>& is_drawn) const {
    const Result<EdgeTypeId> type = names_.schema.FindEdgeType(edge_type);
    return type.ok() && is_drawn[type->value];
  }

  Status CheckNodeLabels(const job::Task& task) const {
    const NodeTypeId type = SeedTypes(task, names_.schema).front();
    const graph::NodeSet& nodes = source_.nodes[type.value];
    const auto column = nodes.columns.find(task.label);
    const auto split = source_.splits.find(task.split);
    if (column == nodes.columns.end() || !HasRows(column->second, nodes.count)) return {};
    if (split == source_.splits.end() || !split->second.contains(type.value)) return {};
    const graph::NodeSplit& parts = split->second.at(type.value);
    return CheckParts(task, {{"spec.training.task.label", task.label, OwnerName(type, source_.schema)}, column->second},
                      {parts.train, parts.validation, parts.test}, "node");
  }

  Status CheckEdgeLabels(const job::Task& task) const {
    const Result<EdgeTypeId> type = job::LabelledEdgeTypeOf(task, source_.schema);
    if (!type.ok()) return {};  // a reverse relation, which addReverseEdges is yet to make
    const graph::EdgeSet& edges = source_.edges[type->value];
    const auto column = edges.columns.find(task.label);
    const auto split = source_.edge_splits.find(task.split);
    // Rows are original ids unless the source was preprocessed before.
    if (!edges.original_ids.empty() || column == edges.columns.end()) return {};
    if (!HasRows(column->second, edges.num_edges())) return {};
    if (split == source_.edge_splits.end() || !split->second.contains(type->value)) return {};
    const graph::EdgeSplit& parts = split->second.at(type->value);
    const ColumnValues labels{{"spec.training.task.label", task.label, OwnerName(*type, source_.schema)},
                              column->second};
    std::vector<std::span<const uint64_t>> rows;
    std::vector<const graph::EdgePairs*> pairs;  // of parts that name edges by their ends
    for (const graph::EdgePairs* part : {&parts.train, &parts.validation, &parts.test}) {
      const bool has_ids = part->edge_ids.size() == part->size();
      rows.push_back(has_ids ? part->edge_ids.ids() : std::span<const uint64_t>());
      if (!has_ids) pairs.push_back(part);
    }
    RETURN_IF_ERROR(CheckParts(task, labels, rows, "edge"));
    return pairs.empty() ? Status() : CheckLabelsOfPairs(task, labels, edges, pairs);
  }

  // For parts that name edges by their ends: parallel edges must then have the same label, unless preprocessing keeps
  // only one of them. Holds the pairs of the parts where a label of the column is wrong, and nothing otherwise.
  Status CheckLabelsOfPairs(const job::Task& task, const ColumnValues& labels, const graph::EdgeSet& edges,
                            const std::vector<const graph::EdgePairs*>& parts) const {
    const LabelRule rule = RuleOf(task);
    const int64_t num_rows = labels.values.num_rows();
    const bool has_ends = edges.sources.num_elements() == num_rows && edges.destinations.num_elements() == num_rows;
    if (num_rows == 0 || !has_ends || drops_duplicate_edges_) return {};
    const int64_t width = labels.values.num_elements() / num_rows;
    return WithElements(labels.values, [&](const auto& value_at) -> Status {
      const auto is_wrong = [&](int64_t row) { return WrongValueOf(row, width, rule, value_at).has_value(); };
      if (!graph::FirstViolation(threads_, num_rows, kCheapGrain, is_wrong)) return {};
      std::vector<std::pair<uint64_t, uint64_t>> pairs;
      for (const graph::EdgePairs* part : parts) {
        const std::span<const uint64_t> sources = part->sources.ids(), destinations = part->destinations.ids();
        for (size_t i = 0; i < std::min(sources.size(), destinations.size()); ++i) {
          pairs.emplace_back(sources[i], destinations[i]);
        }
      }
      std::sort(pairs.begin(), pairs.end());
      const std::optional<int64_t> wrong = graph::FirstViolation(threads_, num_rows, kCheapGrain, [&](int64_t row) {
        return is_wrong(row) &&
               std::binary_search(pairs.begin(), pairs.end(),
                                  std::pair(static_cast<uint64_t>(edges.sources.ValueAsInt(row)),
                                            static_cast<uint64_t>(edges.destinations.ValueAsInt(row))));
      });
      if (!wrong) return {};
      return WrongElement(labels, *WrongValueOf(*wrong, width, rule, value_at), rule.expected);
    });
  }

  // `parts`: the rows of train, validation and test.
  Status CheckParts(const job::Task& task, const ColumnValues& labels,
                    const std::vector<std::span<const uint64_t>>& parts, const std::string& row) const {
    const LabelRule rule = RuleOf(task);
    const auto num_rows = static_cast<uint64_t>(labels.values.num_rows());
    if (num_rows == 0) return {};
    const int64_t width = labels.values.num_elements() / labels.values.num_rows();
    const auto check = [&](const auto& value_at) -> Status {
      for (const std::span<const uint64_t> rows : parts) {
        const std::optional<int64_t> wrong =
            graph::FirstViolation(threads_, static_cast<int64_t>(rows.size()), kCheapGrain, [&](int64_t i) {
              const uint64_t id = rows[static_cast<size_t>(i)];
              return id < num_rows && WrongValueOf(static_cast<int64_t>(id), width, rule, value_at).has_value();
            });
        if (!wrong) continue;
        const auto id = static_cast<int64_t>(rows[static_cast<size_t>(*wrong)]);
        return WrongElement(labels, *WrongValueOf(id, width, rule, value_at), rule.expected);
      }
      const auto first_label =
          graph::FirstViolation(threads_, static_cast<int64_t>(parts.front().size()), kCheapGrain, [&](int64_t i) {
            const uint64_t id = parts.front()[static_cast<size_t>(i)];
            if (id >= num_rows) return true;  // ValidateSourceGraph's to refuse
            for (int64_t at = static_cast<int64_t>(id) * width; at < (static_cast<int64_t>(id) + 1) * width; ++at) {
              if (rule.is_label(value_at(at))) return true;
            }
            return false;
          });
      if (first_label || parts.front().empty()) return {};
      return InvalidArgument(labels.column.field + ": no training " + row + " of split '" + task.split +
                             "' has a label in column '" + labels.column.name + "' of " + labels.column.owner +
                             ": all " + std::to_string(parts.front().size()) + " are " + rule.missing +
                             ", which means no label");
    };
    return WithElements(labels.values, check);
  }

  const GraphNames& names_;           // outlives this
  const graph::SourceGraph& source_;  // outlives this
  const bool drops_duplicate_edges_;
  const int threads_;
};

}  // namespace

Status CheckSourceValues(const job::DistTraining& job, TrainedBy trained_by, const GraphNames& names,
                         const graph::SourceGraph& source, int threads) {
  if (!IsTrainedByEspalier(job, trained_by)) return {};
  const ValueCheck check(names, source, job.graph.preprocess, threads);
  if (!OnlyInfers(job.training)) RETURN_IF_ERROR(check.CheckLabels(job.training.task));
  RETURN_IF_ERROR(check.CheckFeatures(job));
  RETURN_IF_ERROR(check.CheckWeights(job.training));
  return check.CheckSeedTimes(job.training);
}

}  // namespace espalier::partitioning
