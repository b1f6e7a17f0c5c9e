// The metadata of a source graph describes its future partitions, but the graph is not preprocessed for it. Columns,
// edges and splits of an edge type are also recorded for the reverse relation that preprocessing will create, and the
// columns that cutting adds (out-degrees, and copies of source nodes' columns on edges) are derived from the schema. So
// the same code can check the headers of a source graph and of its partitioning.
#include "services/partitioner/checks/graph_metadata.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "services/graph/out_degree_column.h"
#include "services/graph/partition.h"
#include "services/graph/preprocess.h"
#include "services/partition/id_width.h"
#include "services/partition/partition_layout.h"

namespace espalier::partitioner {
namespace {

// Returns metadata with empty entries for all types.
GraphMetadata MakeEmptyMetadata(graph::GraphSchema schema) {
  GraphMetadata metadata;
  metadata.node_columns.resize(schema.num_node_types());
  metadata.node_splits.resize(schema.num_node_types());
  metadata.node_labels.resize(schema.num_node_types());
  metadata.edge_columns.resize(schema.num_edge_types());
  metadata.edge_splits.resize(schema.num_edge_types());
  metadata.edge_labels.resize(schema.num_edge_types());
  metadata.num_nodes.resize(schema.num_node_types());
  metadata.num_edges.resize(schema.num_edge_types());
  metadata.schema = std::move(schema);
  return metadata;
}

using Headers = std::map<std::string, ColumnHeader>;

Headers MakeHeaders(const std::map<std::string, Tensor>& columns, const graph::LabelColumns* labels) {
  Headers headers;
  for (const auto& [name, column] : columns) {
    const std::vector<int64_t>& shape = column.shape();
    // The first dimension is the number of rows; ValidateSourceGraph rejects a column without one.
    headers[name] = {
        .dtype = column.dtype(),
        .row_shape = shape.empty() ? shape : std::vector<int64_t>(shape.begin() + 1, shape.end()),
        .lacks_values = labels != nullptr && labels->MayLackValues(name) && graph::HasMissingValues(column)};
  }
  return headers;
}

Headers MakeHeaders(const std::vector<format::ColumnEntry>& columns) {
  Headers headers;
  for (const format::ColumnEntry& column : columns) {
    headers[column.name] = {column.dtype,       column.row_shape,   column.lacks_values, column.bad_weight,
                            column.is_all_zero, column.bad_feature, column.bad_time};
  }
  return headers;
}

template <class Split>
PartSizes CountParts(const Split& split) {
  return {.train = split.train.size(), .validation = split.validation.size(), .test = split.test.size()};
}

void AddEdgeSplits(const graph::SourceGraph& source, uint16_t type, std::map<std::string, PartSizes>* splits) {
  for (const auto& [name, by_type] : source.edge_splits) {
    const auto split = by_type.find(type);
    if (split != by_type.end()) splits->emplace(name, CountParts(split->second));
  }
}

// Adds the out-degree columns that partitions will have.
void AddOutDegrees(GraphMetadata* metadata) {
  for (uint16_t type = 0; type < metadata->schema.num_edge_types(); ++type) {
    const EdgeTypeId edge_type(type);
    metadata->node_columns[metadata->schema.SourceOf(edge_type).value].emplace(
        graph::OutDegreeColumnName(metadata->schema.EdgeType(edge_type)),
        ColumnHeader{.dtype = partition::OutDegreeDType(metadata->num_edges[type]), .row_shape = {}});
  }
}

void AddSourceColumns(const std::vector<std::string>& source_columns, const graph::SourceGraph& source,
                      GraphMetadata* metadata) {
  for (uint16_t type = 0; type < metadata->edge_columns.size(); ++type) {
    const NodeTypeId source_type = metadata->schema.SourceOf(EdgeTypeId(type));
    const Headers& of_sources = metadata->node_columns[source_type.value];
    for (const std::string& name : source_columns) {
      const auto column = of_sources.find(name);
      const bool is_id = name == graph::kOriginalIdColumn;
      if (!is_id && column == of_sources.end()) continue;
      const ColumnHeader header =
          is_id ? ColumnHeader{.dtype = partition::WidthFor(source.nodes[source_type.value].count), .row_shape = {}}
                : column->second;
      metadata->edge_columns[type].emplace(graph::SourceColumnName(name), header);
    }
  }
}

}  // namespace

std::vector<EdgeTypeId> ListDerivedEdgeTypes(const graph::CanonicalEdgeType& type, bool makes_relations,
                                             const graph::GraphSchema& preprocessed) {
  std::vector<std::string> names = {type.Name()};
  if (makes_relations) names.push_back(graph::ReverseRelation(type).Name());
  std::vector<EdgeTypeId> types;
  for (const std::string& name : names) {
    if (const Result<EdgeTypeId> id = preprocessed.FindEdgeType(name); id.ok()) types.push_back(*id);
  }
  return types;
}

int64_t ColumnHeader::width() const {
  int64_t width = 1;
  for (const int64_t size : row_shape) width *= size;
  return width;
}

std::string ColumnHeader::ToString() const {
  if (row_shape.empty()) return espalier::ToString(dtype);
  return std::string(espalier::ToString(dtype)) + " [" + absl::StrJoin(row_shape, ", ") + "]";
}

Result<GraphMetadata> CollectMetadata(const graph::SourceGraph& source, const job::Graph& graph,
                                      const graph::LabelColumns* labels) {
  const bool makes_relations = graph.preprocess.add_reverse_edges && !source.schema.is_homogeneous();
  Result<graph::GraphSchema> schema = source.schema;
  if (makes_relations) schema = graph::WithReverseRelations(source.schema).While("adding reverse relations");
  if (!schema.ok()) return std::move(schema).status();
  GraphMetadata metadata = MakeEmptyMetadata(*std::move(schema));
  for (size_t type = 0; type < source.nodes.size(); ++type) {
    metadata.node_columns[type] = MakeHeaders(source.nodes[type].columns, labels);
    metadata.num_nodes[type] = source.nodes[type].count;
  }
  for (const auto& [name, by_type] : source.splits) {
    for (uint16_t type = 0; type < metadata.node_splits.size(); ++type) {
      const auto split = by_type.find(type);
      if (split != by_type.end()) metadata.node_splits[type].emplace(name, CountParts(split->second));
    }
  }
  for (uint16_t type = 0; type < source.edges.size(); ++type) {
    const Headers columns = MakeHeaders(source.edges[type].columns, labels);
    const graph::CanonicalEdgeType& named = source.schema.EdgeType(EdgeTypeId(type));
    for (const EdgeTypeId made : ListDerivedEdgeTypes(named, makes_relations, metadata.schema)) {
      metadata.edge_columns[made.value].insert(columns.begin(), columns.end());
      metadata.num_edges[made.value] += source.edges[type].num_edges();
      AddEdgeSplits(source, type, &metadata.edge_splits[made.value]);
    }
  }
  AddSourceColumns(graph.partitions.source_columns, source, &metadata);
  AddOutDegrees(&metadata);
  return metadata;
}

GraphMetadata CollectMetadata(const format::Manifest& manifest) {
  GraphMetadata metadata = MakeEmptyMetadata(manifest.book.schema());
  for (size_t type = 0; type < manifest.node_columns.size(); ++type) {
    metadata.node_columns[type] = MakeHeaders(manifest.node_columns[type]);
    metadata.num_nodes[type] = manifest.book.num_nodes(NodeTypeId(static_cast<uint16_t>(type)));
  }
  for (size_t type = 0; type < manifest.edge_columns.size(); ++type) {
    metadata.edge_columns[type] = MakeHeaders(manifest.edge_columns[type]);
    metadata.num_edges[type] = manifest.book.num_edges(EdgeTypeId(static_cast<uint16_t>(type)));
  }
  for (const format::SplitEntry& split : manifest.splits) {
    metadata.node_splits[split.node_type].emplace(split.name, PartSizes{split.train, split.validation, split.test});
    metadata.node_labels[split.node_type].emplace(split.name, split.labels);
  }
  for (const format::EdgeSplitEntry& split : manifest.edge_splits) {
    metadata.edge_splits[split.edge_type].emplace(split.name, PartSizes{split.train, split.validation, split.test});
    metadata.edge_labels[split.edge_type].emplace(split.name, split.labels);
  }
  return metadata;
}

std::vector<std::set<std::string>> ListColumnNames(const std::vector<Headers>& columns) {
  std::vector<std::set<std::string>> names(columns.size());
  for (size_t type = 0; type < columns.size(); ++type) {
    for (const auto& [name, header] : columns[type]) names[type].insert(name);
  }
  return names;
}

}  // namespace espalier::partitioner
