// What a graph's headers say, as its partitions will have it: types, columns with dtype and shape, splits with the
// sizes of their parts.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/format/manifest.h"
#include "services/graph/label_columns.h"
#include "services/graph/source_graph.h"
#include "services/job/dist_training.h"

namespace espalier::partitioner {

struct ColumnHeader {
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;  // of one node or edge; empty: one value
  bool lacks_values = false;       // some value is NaN; false if the values were not read
  // format::ColumnEntry's; of a partitioning, and of a source after RecordValues.
  std::string bad_weight = {};
  bool is_all_zero = false;
  std::string bad_feature = {};
  std::string bad_time = {};

  // Values of one row; 0 where a dimension is 0.
  int64_t width() const;
  // "F32 [16]", "I64" of one value
  std::string ToString() const;
  friend bool operator==(const ColumnHeader&, const ColumnHeader&) = default;
};

struct PartSizes {
  uint64_t train = 0, validation = 0, test = 0;  // nodes or edges
  friend bool operator==(const PartSizes&, const PartSizes&) = default;
};

// By split and column.
using LabelsOfSplits = std::map<std::string, std::map<std::string, format::SplitLabels>>;

struct GraphNames {
  graph::GraphSchema schema;
  std::vector<std::map<std::string, ColumnHeader>> node_columns;  // by NodeTypeId; without original ids
  std::vector<std::map<std::string, ColumnHeader>> edge_columns;  // by EdgeTypeId; with the copies of sources' columns
  std::vector<std::map<std::string, PartSizes>> node_splits;      // by NodeTypeId
  std::vector<std::map<std::string, PartSizes>> edge_splits;      // by EdgeTypeId
  std::vector<LabelsOfSplits> node_labels;  // by NodeTypeId; of a partitioning, and of a source after RecordValues
  std::vector<LabelsOfSplits> edge_labels;  // by EdgeTypeId; likewise
  std::vector<uint64_t> num_nodes;          // by NodeTypeId
  std::vector<uint64_t> num_edges;          // by EdgeTypeId: of the source, or the partitioning
};

// Returns the headers of a source as graph.preprocess and graph.partitions will have it: with the relations that
// addReverseEdges makes. Training edges that preprocessing leaves out still count. Reads no edge, and values only of
// the columns that `labels` allows to lack some; with null it reads none and sets no lacks_values. InvalidArgument
// where such a relation exists already.
Result<GraphNames> CollectNames(const graph::SourceGraph& source, const job::Graph& graph,
                                const graph::LabelColumns* labels = nullptr);

// Returns the headers of a partitioning.
GraphNames CollectNames(const format::Manifest& manifest);

// Returns the edge types of `made` that carry the columns and splits of a source's `type`: the type itself and, where
// preprocessing makes it, its reverse relation.
std::vector<EdgeTypeId> ListTypesMade(const graph::CanonicalEdgeType& type, bool makes_relations,
                                      const graph::GraphSchema& made);

// Returns the names of the columns of each type.
std::vector<std::set<std::string>> ColumnNames(const std::vector<std::map<std::string, ColumnHeader>>& columns);

}  // namespace espalier::partitioner
