// The headers of a graph as its partitions will have them: types, columns with dtype and shape, splits with the sizes
// of their parts.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/format/partition/manifest.h"
#include "services/graph/label_columns.h"
#include "services/graph/source_graph.h"
#include "services/job/dist_training.h"

namespace espalier::partitioner {

struct ColumnHeader {
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;  // of one node or edge; empty: one value
  bool lacks_values = false;       // some value is NaN; false if the values were not read
  // As in format::ColumnEntry. Set for a partitioning, and for a source after RecordValues (value_facts.h).
  std::string bad_weight = {};
  bool is_all_zero = false;
  std::string bad_feature = {};
  std::string bad_time = {};

  // Returns the number of values of one row; 0 if a dimension is 0.
  int64_t width() const;
  // Returns dtype and row shape, such as "F32 [16]", or "I64" for one value per row.
  std::string ToString() const;
  friend bool operator==(const ColumnHeader&, const ColumnHeader&) = default;
};

struct PartSizes {
  uint64_t train = 0, validation = 0, test = 0;  // nodes or edges
  friend bool operator==(const PartSizes&, const PartSizes&) = default;
};

// Properties of label values by split and column.
using LabelsOfSplits = std::map<std::string, std::map<std::string, format::SplitLabels>>;

struct GraphMetadata {
  graph::GraphSchema schema;
  std::vector<std::map<std::string, ColumnHeader>> node_columns;  // by NodeTypeId; without original IDs
  std::vector<std::map<std::string, ColumnHeader>> edge_columns;  // by EdgeTypeId; with those copied from source nodes
  std::vector<std::map<std::string, PartSizes>> node_splits;      // by NodeTypeId
  std::vector<std::map<std::string, PartSizes>> edge_splits;      // by EdgeTypeId
  std::vector<LabelsOfSplits> node_labels;  // by NodeTypeId; empty for a source before RecordValues
  std::vector<LabelsOfSplits> edge_labels;  // by EdgeTypeId; empty for a source before RecordValues
  std::vector<uint64_t> num_nodes;          // by NodeTypeId
  std::vector<uint64_t> num_edges;          // by EdgeTypeId; of a source: before preprocessing adds or drops edges
};

// Returns the headers that the partitions of `source` will have if graph.preprocess and graph.partitions are applied.
// They include the relations that addReverseEdges creates, the node columns that sourceColumns copies from source nodes
// to edges, and out-degrees. The sizes of splits include edges that preprocessing will drop. Reads no edges. Reads
// values only to set lacks_values: of the columns for which labels->MayLackValues is true; none if `labels` is null.
// InvalidArgument if a reverse relation exists already.
Result<GraphMetadata> CollectMetadata(const graph::SourceGraph& source, const job::Graph& graph,
                                      const graph::LabelColumns* labels = nullptr);

// Returns the headers of a partitioning.
GraphMetadata CollectMetadata(const format::Manifest& manifest);

// Returns the edge types of `preprocessed`, the schema after preprocessing, that have the columns and splits of the
// source's edge type `type`: the type itself and, if `makes_relations`, the reverse relation that preprocessing
// creates.
std::vector<EdgeTypeId> ListDerivedEdgeTypes(const graph::CanonicalEdgeType& type, bool makes_relations,
                                             const graph::GraphSchema& preprocessed);

// Returns the names of the columns by type.
std::vector<std::set<std::string>> ListColumnNames(const std::vector<std::map<std::string, ColumnHeader>>& columns);

}  // namespace espalier::partitioner
