#include "services/partitioner/checks/value_facts.h"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/partitioner/checks/column_values.h"
#include "services/partitioner/checks/label_facts.h"
#include "services/partitioner/checks/value_errors.h"

namespace espalier::partitioner {
namespace {

using Rows = std::vector<std::span<const uint64_t>>;  // of train, validation and test

// Columns of another length are ValidateSourceGraph's to refuse.
bool HasRowFor(const Tensor& values, uint64_t count) {
  return count > 0 && !values.shape().empty() && static_cast<uint64_t>(values.num_rows()) == count;
}

std::string FormatFact(const Tensor& values, const std::optional<int64_t>& element) {
  return element ? ElementFact(values, *element) : "";
}

class ValueFacts {
 public:
  ValueFacts(const graph::SourceGraph& source, const graph::LabelColumns& labels, int threads, GraphNames* names)
      : source_(source), labels_(labels), threads_(threads), names_(names) {}

  void RecordNodes(uint16_t type) {
    for (const auto& [name, values] : source_.nodes[type].columns) {
      if (!HasRowFor(values, source_.nodes[type].count)) continue;
      ColumnHeader& header = names_->node_columns[type].at(name);
      header.bad_feature = FormatFact(values, FindBadFeature(values, threads_));
      if (header.width() == 1) header.bad_time = FormatFact(values, FindBadTime(values, threads_));
      if (!labels_.MayLackValues(name)) continue;
      for (const auto& [split, by_type] : source_.splits) {
        const auto parts = by_type.find(type);
        if (parts == by_type.end()) continue;
        RecordLabels(name, values, {parts->second.train, parts->second.validation, parts->second.test},
                     &names_->node_labels[type][split]);
      }
    }
  }

  void RecordEdges(uint16_t type) {
    const graph::EdgeSet& edges = source_.edges[type];
    for (const auto& [name, values] : edges.columns) {
      if (!HasRowFor(values, edges.num_edges())) continue;
      if (values.num_elements() == values.num_rows()) RecordWeights(type, name, values);
      // Rows are original ids unless the source was preprocessed before.
      if (labels_.MayLackValues(name) && edges.original_ids.empty()) RecordEdgeLabels(type, name, values);
    }
  }

 private:
  void RecordWeights(uint16_t type, const std::string& name, const Tensor& values) {
    const std::string bad_weight = FormatFact(values, FindBadWeight(values, threads_));
    const bool is_all_zero = bad_weight.empty() && !HasPositive(values, threads_);
    const graph::CanonicalEdgeType& named = source_.schema.EdgeType(EdgeTypeId(type));
    for (const EdgeTypeId made : ListTypesMade(named, /*makes_relations=*/true, names_->schema)) {
      const auto header = names_->edge_columns[made.value].find(name);
      if (header == names_->edge_columns[made.value].end()) continue;
      header->second.bad_weight = bad_weight;
      header->second.is_all_zero = is_all_zero;
    }
  }

  // What stands in a manifest, which leaves out what says nothing.
  void RecordLabels(const std::string& name, const Tensor& values, const Rows& rows,
                    std::map<std::string, format::SplitLabels>* labels) const {
    format::SplitLabels facts = CollectSplitLabels(values, rows, threads_);
    if (facts != format::SplitLabels()) labels->emplace(name, std::move(facts));
  }

  // Not of splits that name edges by their ends: trainers check those.
  void RecordEdgeLabels(uint16_t type, const std::string& name, const Tensor& values) {
    const Result<EdgeTypeId> made = names_->schema.FindEdgeType(source_.schema.EdgeType(EdgeTypeId(type)).Name());
    if (!made.ok()) return;
    for (const auto& [split, by_type] : source_.edge_splits) {
      const auto parts = by_type.find(type);
      if (parts == by_type.end()) continue;
      Rows rows;
      for (const graph::EdgePairs* part : {&parts->second.train, &parts->second.validation, &parts->second.test}) {
        if (part->edge_ids.size() == part->size()) rows.push_back(part->edge_ids.ids());
      }
      if (rows.size() == 3) RecordLabels(name, values, rows, &names_->edge_labels[made->value][split]);
    }
  }

  const graph::SourceGraph& source_;   // outlives this
  const graph::LabelColumns& labels_;  // outlives this
  const int threads_;
  GraphNames* const names_;  // outlives this
};

void RecordColumns(const std::vector<std::map<std::string, ColumnHeader>>& source,
                   std::vector<std::vector<format::ColumnEntry>>* columns) {
  for (size_t type = 0; type < columns->size(); ++type) {
    for (format::ColumnEntry& column : (*columns)[type]) {
      const auto header = source[type].find(column.name);
      if (header == source[type].end()) continue;
      column.lacks_values = header->second.lacks_values;
      column.bad_weight = header->second.bad_weight;
      column.is_all_zero = header->second.is_all_zero;
      column.bad_feature = header->second.bad_feature;
      column.bad_time = header->second.bad_time;
    }
  }
}

template <class Split>
void CopyLabels(const LabelsOfSplits& source, Split* split) {
  if (const auto labels = source.find(split->name); labels != source.end()) split->labels = labels->second;
}

}  // namespace

void RecordValues(const graph::SourceGraph& source, const graph::LabelColumns& labels, int threads, GraphNames* names) {
  ValueFacts facts(source, labels, threads, names);
  for (uint16_t type = 0; type < source.nodes.size(); ++type) facts.RecordNodes(type);
  for (uint16_t type = 0; type < source.edges.size(); ++type) facts.RecordEdges(type);
}

void RecordValues(const GraphNames& source, format::Manifest* manifest) {
  RecordColumns(source.node_columns, &manifest->node_columns);
  RecordColumns(source.edge_columns, &manifest->edge_columns);
  for (format::SplitEntry& split : manifest->splits) CopyLabels(source.node_labels[split.node_type], &split);
  for (format::EdgeSplitEntry& split : manifest->edge_splits) CopyLabels(source.edge_labels[split.edge_type], &split);
}

}  // namespace espalier::partitioner
