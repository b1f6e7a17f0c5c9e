// Several threads scan a column for the first value that violates a rule. The record of the value names its row in the
// user's file. Records of an edge column are stored for the edge type and for the reverse relation that addReverseEdges
// creates, which has the same columns. For splits that name edges by their endpoints, every edge is looked up in a set
// of the split's pairs (graph::PairSet).
#include "services/partitioner/checks/value_facts.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/parallel.h"
#include "services/graph/pair_set.h"
#include "services/partitioner/checks/column_values.h"
#include "services/partitioner/checks/label_facts.h"
#include "services/partitioner/checks/value_errors.h"

namespace espalier::partitioner {
namespace {

using Rows = std::vector<std::span<const uint64_t>>;  // of the training, validation and test part

// Returns whether the column has `count` rows and `count` is not 0. ValidateSourceGraph rejects columns of another
// length.
bool HasRows(const Tensor& values, uint64_t count) {
  return count > 0 && !values.shape().empty() && static_cast<uint64_t>(values.num_rows()) == count;
}

// Returns the ascending rows of the edges whose endpoints are a pair of `part`; with `adds_reverses`, also the rows of
// edges whose reverse is such a pair. Each thread looks up a range of edges.
std::vector<uint64_t> FindRowsByEndpoints(const graph::EdgeSet& edges, const graph::EdgePairs& part, bool adds_reverses,
                                          int threads) {
  const std::span<const uint64_t> sources = part.sources.ids(), destinations = part.destinations.ids();
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  pairs.reserve(part.size());
  for (size_t i = 0; i < std::min(sources.size(), destinations.size()); ++i) {
    pairs.emplace_back(sources[i], destinations[i]);
  }
  if (pairs.empty()) return {};
  std::sort(pairs.begin(), pairs.end());
  const graph::PairSet named(pairs);

  std::mutex mutex;
  std::vector<uint64_t> rows;
  ParallelFor(threads, edges.sources.num_elements(), kCheapGrain, [&](int64_t begin, int64_t end) {
    std::vector<uint64_t> found;
    for (int64_t row = begin; row < end; ++row) {
      const auto source = static_cast<uint64_t>(edges.sources.ValueAsInt(row));
      const auto destination = static_cast<uint64_t>(edges.destinations.ValueAsInt(row));
      if (named.Contains(source, destination) || (adds_reverses && named.Contains(destination, source))) {
        found.push_back(static_cast<uint64_t>(row));
      }
    }
    const std::lock_guard lock(mutex);
    rows.insert(rows.end(), found.begin(), found.end());
  });
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::string FormatFact(const Tensor& values, const std::optional<int64_t>& element) {
  return element ? DescribeElement(values, *element) : "";
}

class ValueFacts {
 public:
  ValueFacts(const graph::SourceGraph& source, const RecordOptions& options, GraphMetadata* metadata)
      : source_(source),
        options_(options),
        makes_relations_(metadata->schema.num_edge_types() > source.schema.num_edge_types()),
        metadata_(metadata) {}

  void RecordNodes(uint16_t type) {
    for (const auto& [name, values] : source_.nodes[type].columns) {
      if (!HasRows(values, source_.nodes[type].count)) continue;
      ColumnHeader& header = metadata_->node_columns[type].at(name);
      header.bad_feature = FormatFact(values, FindBadFeature(values, options_.threads));
      if (header.width() == 1) header.bad_time = FormatFact(values, FindBadTime(values, options_.threads));
      if (!MayBeLabels(name)) continue;
      for (const auto& [split, by_type] : source_.splits) {
        const auto parts = by_type.find(type);
        if (parts == by_type.end()) continue;
        RecordLabels(name, values, {parts->second.train, parts->second.validation, parts->second.test},
                     &metadata_->node_labels[type][split]);
      }
    }
  }

  void RecordEdges(uint16_t type) {
    const graph::EdgeSet& edges = source_.edges[type];
    if (edges.sources.num_elements() != edges.destinations.num_elements()) return;
    std::vector<std::string> labels;
    for (const auto& [name, values] : edges.columns) {
      if (!HasRows(values, edges.num_edges())) continue;
      if (values.num_elements() == values.num_rows()) RecordWeights(type, name, values);
      // Splits contain original IDs, which are rows only if the source was not preprocessed before.
      if (MayBeLabels(name) && edges.original_ids.empty()) labels.push_back(name);
    }
    if (!labels.empty()) RecordEdgeLabels(type, labels);
  }

 private:
  bool MayBeLabels(const std::string& column) const {
    const std::vector<std::string>& named = options_.labels.labels;
    return options_.labels.MayLackValues(column) || std::find(named.begin(), named.end(), column) != named.end();
  }

  void RecordWeights(uint16_t type, const std::string& name, const Tensor& values) {
    const std::string bad_weight = FormatFact(values, FindBadWeight(values, options_.threads));
    const bool is_all_zero = bad_weight.empty() && !HasPositive(values, options_.threads);
    const graph::CanonicalEdgeType& named = source_.schema.EdgeType(EdgeTypeId(type));
    for (const EdgeTypeId derived : ListDerivedEdgeTypes(named, makes_relations_, metadata_->schema)) {
      const auto header = metadata_->edge_columns[derived.value].find(name);
      if (header == metadata_->edge_columns[derived.value].end()) continue;
      header->second.bad_weight = bad_weight;
      header->second.is_all_zero = is_all_zero;
    }
  }

  // Adds the properties of a label column unless they are the defaults, which the manifest omits.
  void RecordLabels(const std::string& name, const Tensor& values, const Rows& rows,
                    std::map<std::string, format::SplitLabels>* labels) const {
    format::SplitLabels facts = CollectSplitLabels(values, rows, options_.threads);
    if (facts != format::SplitLabels()) labels->emplace(name, std::move(facts));
  }

  void RecordEdgeLabels(uint16_t type, const std::vector<std::string>& columns) {
    const graph::EdgeSet& edges = source_.edges[type];
    const bool adds_reverses = options_.preprocess.add_reverse_edges && !makes_relations_;
    const Result<EdgeTypeId> preprocessed_type =
        metadata_->schema.FindEdgeType(source_.schema.EdgeType(EdgeTypeId(type)).Name());
    if (!preprocessed_type.ok()) return;
    for (const auto& [split, by_type] : source_.edge_splits) {
      const auto parts = by_type.find(type);
      if (parts == by_type.end()) continue;
      std::array<std::vector<uint64_t>, 3> found;  // rows of the parts that name edges by their endpoints
      Rows rows;
      for (const graph::EdgePairs* part : {&parts->second.train, &parts->second.validation, &parts->second.test}) {
        if (part->edge_ids.size() == part->size()) {
          rows.push_back(part->edge_ids.ids());
        } else if (!options_.preprocess.drop_duplicate_edges) {
          rows.push_back(found[rows.size()] = FindRowsByEndpoints(edges, *part, adds_reverses, options_.threads));
        }
      }
      if (rows.size() < found.size()) continue;
      for (const std::string& name : columns) {
        RecordLabels(name, edges.columns.at(name), rows, &metadata_->edge_labels[preprocessed_type->value][split]);
      }
    }
  }

  const graph::SourceGraph& source_;  // outlives this
  const RecordOptions& options_;      // outlives this
  const bool makes_relations_;        // whether addReverseEdges creates relations
  GraphMetadata* const metadata_;     // outlives this
};

void CopyRecords(const std::vector<std::map<std::string, ColumnHeader>>& source,
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

void RecordValues(const graph::SourceGraph& source, const RecordOptions& options, GraphMetadata* metadata) {
  ValueFacts facts(source, options, metadata);
  for (uint16_t type = 0; type < source.nodes.size(); ++type) facts.RecordNodes(type);
  for (uint16_t type = 0; type < source.edges.size(); ++type) facts.RecordEdges(type);
}

void CopyRecordsToManifest(const GraphMetadata& source, format::Manifest* manifest) {
  CopyRecords(source.node_columns, &manifest->node_columns);
  CopyRecords(source.edge_columns, &manifest->edge_columns);
  for (format::SplitEntry& split : manifest->splits) CopyLabels(source.node_labels[split.node_type], &split);
  for (format::EdgeSplitEntry& split : manifest->edge_splits) CopyLabels(source.edge_labels[split.edge_type], &split);
}

}  // namespace espalier::partitioner
