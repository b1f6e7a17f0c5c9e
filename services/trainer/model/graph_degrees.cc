#include "services/trainer/model/graph_degrees.h"

#include "services/graph/out_degree_column.h"

namespace espalier::trainer {
namespace {

std::vector<float> ToFloatVector(const Tensor& counts) {
  std::vector<float> values(static_cast<size_t>(counts.num_rows()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(counts.ValueAsInt(static_cast<int64_t>(i)));
  }
  return values;
}

}  // namespace

DegreeSource::DegreeSource(sampler::NeighborSource& neighbors, sampler::RowSource& rows,
                           const std::vector<std::vector<EdgeTypeId>>& relations)
    : neighbors_(&neighbors), rows_(&rows) {
  for (const std::vector<EdgeTypeId>& layer_relations : relations)
    relations_.insert(layer_relations.begin(), layer_relations.end());
}

Result<GraphDegrees> DegreeSource::Fetch(const std::vector<std::vector<GlobalNodeId>>& nodes,
                                         std::span<const uint32_t> num_written, Deadline deadline) const {
  const graph::GraphSchema& schema = neighbors_->book().schema();
  GraphDegrees degrees{std::vector<std::vector<float>>(schema.num_edge_types()),
                       std::vector<std::vector<float>>(schema.num_edge_types())};
  for (const EdgeTypeId relation : relations_) {
    const NodeTypeId source = schema.SourceOf(relation), destination = schema.DestinationOf(relation);
    const auto& sources = nodes[source.value];
    const auto destinations = std::span(nodes[destination.value]).first(num_written[destination.value]);
    if (!sources.empty()) {
      ASSIGN_OR_RETURN(
          const Tensor out,
          rows_->GatherRows(source, graph::OutDegreeColumnName(schema.EdgeType(relation)), sources, deadline));
      degrees.out[relation.value] = ToFloatVector(out);
    }
    if (!destinations.empty()) {
      ASSIGN_OR_RETURN(const Tensor in, neighbors_->InDegrees(relation, destinations, deadline));
      degrees.in[relation.value] = ToFloatVector(in);
    }
  }
  return degrees;
}

}  // namespace espalier::trainer
