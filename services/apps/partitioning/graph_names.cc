#include "services/apps/partitioning/graph_names.h"

#include <utility>

#include "services/graph/out_degree_column.h"
#include "services/graph/partition.h"
#include "services/graph/preprocess.h"

namespace espalier::partitioning {
namespace {

GraphNames NamesFor(graph::GraphSchema schema) {
  GraphNames names;
  names.node_columns.resize(schema.num_node_types());
  names.node_splits.resize(schema.num_node_types());
  names.edge_columns.resize(schema.num_edge_types());
  names.edge_splits.resize(schema.num_edge_types());
  names.schema = std::move(schema);
  return names;
}

template <class Columns>
std::set<std::string> KeysOf(const Columns& columns) {
  std::set<std::string> keys;
  for (const auto& [name, column] : columns) keys.insert(name);
  return keys;
}

std::set<std::string> NamesOfColumns(const std::vector<format::ColumnEntry>& columns) {
  std::set<std::string> names;
  for (const format::ColumnEntry& column : columns) names.insert(column.name);
  return names;
}

// What the edges of a type of the source have is had, in `made`, by the type itself and by its reverse relation.
std::vector<EdgeTypeId> TypesMadeOf(const graph::CanonicalEdgeType& type, bool makes_relations,
                                    const graph::GraphSchema& made) {
  std::vector<std::string> names = {type.Name()};
  if (makes_relations) names.push_back(graph::ReverseRelationOf(type).Name());
  std::vector<EdgeTypeId> types;
  for (const std::string& name : names) {
    if (const Result<EdgeTypeId> id = made.FindEdgeType(name); id.ok()) types.push_back(*id);
  }
  return types;
}

void AddSplits(const graph::SourceGraph& source, uint16_t type, std::set<std::string>* names) {
  for (const auto& [name, by_type] : source.edge_splits) {
    if (by_type.contains(type)) names->insert(name);
  }
}

// Those that cutting adds.
void AddOutDegrees(GraphNames* names) {
  for (uint16_t type = 0; type < names->schema.num_edge_types(); ++type) {
    const EdgeTypeId edge_type(type);
    names->node_columns[names->schema.SourceOf(edge_type).value].insert(
        graph::OutDegreeColumnName(names->schema.EdgeType(edge_type)));
  }
}

void AddSourceColumns(const std::vector<std::string>& source_columns, GraphNames* names) {
  for (uint16_t type = 0; type < names->edge_columns.size(); ++type) {
    const std::set<std::string>& of_sources = names->node_columns[names->schema.SourceOf(EdgeTypeId(type)).value];
    for (const std::string& name : source_columns) {
      if (name != graph::kOriginalIdColumn && !of_sources.contains(name)) continue;
      names->edge_columns[type].insert(graph::SourceColumnName(name));
    }
  }
}

}  // namespace

Result<GraphNames> NamesOf(const graph::SourceGraph& source, const job::Graph& graph) {
  const bool makes_relations = graph.preprocess.add_reverse_edges && !source.schema.is_homogeneous();
  Result<graph::GraphSchema> schema = source.schema;
  if (makes_relations) schema = graph::WithReverseRelations(source.schema).While("adding reverse relations");
  if (!schema.ok()) return std::move(schema).status();
  GraphNames names = NamesFor(*std::move(schema));
  for (size_t type = 0; type < source.nodes.size(); ++type) {
    names.node_columns[type] = KeysOf(source.nodes[type].columns);
  }
  for (const auto& [name, by_type] : source.splits) {
    for (uint16_t type = 0; type < names.node_splits.size(); ++type) {
      if (by_type.contains(type)) names.node_splits[type].insert(name);
    }
  }
  for (uint16_t type = 0; type < source.edges.size(); ++type) {
    const std::set<std::string> columns = KeysOf(source.edges[type].columns);
    const graph::CanonicalEdgeType& named = source.schema.EdgeType(EdgeTypeId(type));
    for (const EdgeTypeId made : TypesMadeOf(named, makes_relations, names.schema)) {
      names.edge_columns[made.value].insert(columns.begin(), columns.end());
      AddSplits(source, type, &names.edge_splits[made.value]);
    }
  }
  AddSourceColumns(graph.partitions.source_columns, &names);
  AddOutDegrees(&names);
  return names;
}

GraphNames NamesOf(const format::Manifest& manifest) {
  GraphNames names = NamesFor(manifest.book.schema());
  for (size_t type = 0; type < manifest.node_columns.size(); ++type) {
    names.node_columns[type] = NamesOfColumns(manifest.node_columns[type]);
  }
  for (size_t type = 0; type < manifest.edge_columns.size(); ++type) {
    names.edge_columns[type] = NamesOfColumns(manifest.edge_columns[type]);
  }
  for (const format::SplitEntry& split : manifest.splits) names.node_splits[split.node_type].insert(split.name);
  for (const format::EdgeSplitEntry& split : manifest.edge_splits) {
    names.edge_splits[split.edge_type].insert(split.name);
  }
  return names;
}

}  // namespace espalier::partitioning
