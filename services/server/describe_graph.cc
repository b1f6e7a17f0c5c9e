#include "services/server/describe_graph.h"

namespace espalier::server {

void DescribeGraph(const sampler::GraphDescription& description, graph::v1::DescribeResponse* response) {
  const graph::PartitionBook& book = description.book;
  const graph::GraphSchema& schema = book.schema();
  graph::v1::PartitionBook* out = response->mutable_book();
  for (size_t i = 0; i < schema.num_node_types(); ++i) {
    const NodeTypeId type(static_cast<uint16_t>(i));
    out->add_node_types(schema.NodeTypeName(type));
    const std::span<const uint64_t> first = book.NodeFirst(type);
    out->add_node_ranges()->mutable_first()->Add(first.begin(), first.end());
  }
  for (size_t i = 0; i < schema.num_edge_types(); ++i) {
    const EdgeTypeId type(static_cast<uint16_t>(i));
    graph::v1::EdgeType* edge_type = out->add_edge_types();
    edge_type->set_source(schema.EdgeType(type).source);
    edge_type->set_relation(schema.EdgeType(type).relation);
    edge_type->set_destination(schema.EdgeType(type).destination);
    const std::span<const uint64_t> first = book.EdgeFirst(type);
    out->add_edge_ranges()->mutable_first()->Add(first.begin(), first.end());
  }
  for (const sampler::ColumnDescription& column : description.columns) {
    graph::v1::Column* entry = response->add_columns();
    entry->set_node_type(column.node_type.value);
    entry->set_name(column.name);
    entry->set_dtype(static_cast<uint32_t>(column.dtype));
    entry->mutable_row_shape()->Add(column.row_shape.begin(), column.row_shape.end());
    entry->mutable_scales()->Add(column.scales.begin(), column.scales.end());
  }
  for (const sampler::EdgeColumnDescription& column : description.edge_columns) {
    graph::v1::EdgeColumn* entry = response->add_edge_columns();
    entry->set_edge_type(column.edge_type.value);
    entry->set_name(column.name);
    entry->set_dtype(static_cast<uint32_t>(column.dtype));
    entry->mutable_row_shape()->Add(column.row_shape.begin(), column.row_shape.end());
  }
  for (const sampler::GraphDescription::SplitCount& split : description.splits) {
    graph::v1::SplitCount* entry = response->add_splits();
    entry->set_node_type(split.node_type.value);
    entry->set_split(split.split);
    entry->set_train(split.train);
    entry->set_validation(split.validation);
    entry->set_test(split.test);
  }
  for (const sampler::GraphDescription::EdgeSplitCount& split : description.edge_splits) {
    graph::v1::EdgeSplitCount* entry = response->add_edge_splits();
    entry->set_edge_type(split.edge_type.value);
    entry->set_split(split.split);
    entry->set_train(split.train);
    entry->set_validation(split.validation);
    entry->set_test(split.test);
  }
}

}  // namespace espalier::server
