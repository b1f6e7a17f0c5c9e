#include "services/partitioner/checks/source_values.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "services/base/parallel.h"
#include "services/graph/first_violation.h"
#include "services/graph/partition.h"
#include "services/graph/preprocess.h"
#include "services/job/sampling/edge_plan.h"
#include "services/partitioner/checks/column_values.h"
#include "services/partitioner/checks/document_fit.h"
#include "services/partitioner/checks/label_facts.h"
#include "services/partitioner/checks/value_errors.h"

namespace espalier::partitioner {
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
      if (!IsDrawn(named.Name(), is_drawn) && !IsDrawn(graph::ReverseRelation(named).Name(), is_drawn)) continue;
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
        if (found == source_.nodes[type->value].columns.end()) continue;
        if (!HasRows(found->second, source_.nodes[type->value].count)) continue;
        const std::optional<int64_t> wrong = FindBadFeature(found->second, threads_);
        if (!wrong) continue;
        return WrongElement({{FeatureField(i, f), input.features[f], OwnerName(*type, source_.schema)}, found->second},
                            *wrong, kUsableFeature);
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
    const std::optional<int64_t> wrong = FindBadTime(found->second, threads_);
    if (!wrong) return {};
    return WrongElement({{kSeedTimeField, name, OwnerName(type, source_.schema)}, found->second}, *wrong, kUsableTime);
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
    return CheckParts(task, OwnerName(type, source_.schema), column->second,
                      {parts.train, parts.validation, parts.test});
  }

  Status CheckEdgeLabels(const job::Task& task) const {
    const Result<EdgeTypeId> type = job::FindLabelledEdgeType(task, source_.schema);
    if (!type.ok()) return {};  // a reverse relation, which addReverseEdges is yet to make
    const graph::EdgeSet& edges = source_.edges[type->value];
    const auto column = edges.columns.find(task.label);
    const auto split = source_.edge_splits.find(task.split);
    // Rows are original ids unless the source was preprocessed before.
    if (!edges.original_ids.empty() || column == edges.columns.end()) return {};
    if (!HasRows(column->second, edges.num_edges())) return {};
    if (split == source_.edge_splits.end() || !split->second.contains(type->value)) return {};
    const graph::EdgeSplit& parts = split->second.at(type->value);
    const std::string owner = OwnerName(*type, source_.schema);
    std::vector<std::span<const uint64_t>> rows;
    std::vector<const graph::EdgePairs*> pairs;  // of parts that name edges by their ends
    for (const graph::EdgePairs* part : {&parts.train, &parts.validation, &parts.test}) {
      const bool has_ids = part->edge_ids.size() == part->size();
      rows.push_back(has_ids ? part->edge_ids.ids() : std::span<const uint64_t>());
      if (!has_ids) pairs.push_back(part);
    }
    RETURN_IF_ERROR(CheckParts(task, owner, column->second, rows));
    return pairs.empty() ? Status()
                         : CheckLabelsOfPairs(task, {LabelColumn(task, owner), column->second}, edges, pairs);
  }

  // For parts that name edges by their ends: parallel edges must then have the same label, unless preprocessing keeps
  // only one of them. Holds the pairs of the parts where a label of the column is wrong, and nothing otherwise.
  Status CheckLabelsOfPairs(const job::Task& task, const ColumnValues& labels, const graph::EdgeSet& edges,
                            const std::vector<const graph::EdgePairs*>& parts) const {
    const LabelRule rule = RuleFor(KindOfLabels(task));
    const int64_t num_rows = labels.values.num_rows();
    const bool has_ends = edges.sources.num_elements() == num_rows && edges.destinations.num_elements() == num_rows;
    if (num_rows == 0 || !has_ends || drops_duplicate_edges_) return {};
    const int64_t width = labels.values.num_elements() / num_rows;
    return WithElements(labels.values, [&](const auto& value_at) -> Status {
      const auto is_wrong = [&](int64_t row) { return FindWrongValue(row, width, rule, value_at).has_value(); };
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
      return WrongElement(labels, *FindWrongValue(*wrong, width, rule, value_at), rule.expected);
    });
  }

  // `parts`: the rows of train, validation and test.
  Status CheckParts(const job::Task& task, const std::string& owner, const Tensor& labels,
                    const std::vector<std::span<const uint64_t>>& parts) const {
    const format::LabelFacts facts = CollectLabelFacts(KindOfLabels(task), labels, parts, threads_);
    return CheckLabelFacts(task, owner, facts, parts.front().size());
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

}  // namespace espalier::partitioner
