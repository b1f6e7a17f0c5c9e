// PartitionedGraph's requests for edges by their ids: each edge is requested from its owner, and the responses are put
// into the order of the request.
#include <limits>

#include "services/sampler/routing/partition_fan_out.h"
#include "services/sampler/routing/partitioned_graph_state.h"
#include "services/sampler/routing/row_routing.h"
#include "services/sampler/seeds/seed_rows.h"

namespace espalier::sampler {
namespace {

struct EdgeRoute {
  std::vector<std::vector<GlobalEdgeId>> edges;  // [partitions] in the order of the request
  std::vector<std::vector<uint32_t>> places;     // [partitions] index of each in the request
};

// Groups edges by owner. InvalidArgument names the first edge that does not exist.
Result<EdgeRoute> RouteEdges(const graph::PartitionBook& book, EdgeTypeId type, std::span<const GlobalEdgeId> edges) {
  if (edges.size() > std::numeric_limits<uint32_t>::max()) return ResourceExhausted("a request has 2^32 edges or more");
  EdgeRoute route;
  route.edges.resize(book.num_partitions());
  route.places.resize(book.num_partitions());
  for (uint32_t i = 0; i < edges.size(); ++i) {
    if (edges[i].value >= book.num_edges(type)) {
      return InvalidArgument("edge " + std::to_string(edges[i].value) + " of type '" +
                             book.schema().EdgeType(type).Name() + "' does not exist; there are " +
                             std::to_string(book.num_edges(type)));
    }
    const uint32_t p = FindRange(book.EdgeFirst(type), edges[i].value);
    route.edges[p].push_back(edges[i]);
    route.places[p].push_back(i);
  }
  return route;
}

}  // namespace

Result<Tensor> PartitionedGraph::FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckEdgeType(type));
  ASSIGN_OR_RETURN(EdgeRoute routed, RouteEdges(book(), type, edges));
  const auto route = std::make_shared<const EdgeRoute>(std::move(routed));
  const std::vector<PartitionId> requested = FindRequestedPartitions(route->edges);
  const auto fan_out = std::make_shared<PartitionFanOut<Tensor>>(requested, route);
  for (size_t k = 0; k < requested.size(); ++k) {
    state_->partitions[requested[k].value]->FindEdges(type, route->edges[requested[k].value], deadline,
                                                      fan_out->Slot(k));
  }
  ASSIGN_OR_RETURN(const std::vector<Tensor> answers, fan_out->Wait(deadline));

  const size_t num_edges = edges.size();
  std::vector<int64_t> ends(2 * num_edges);
  for (size_t k = 0; k < requested.size(); ++k) {
    const std::vector<uint32_t>& places = route->places[requested[k].value];
    if (static_cast<size_t>(answers[k].num_elements()) != 2 * places.size()) {
      return Internal("partition " + std::to_string(requested[k].value) + " returned " + answers[k].ToString() +
                      " as the endpoints of " + std::to_string(places.size()) + " edges");
    }
    for (size_t i = 0; i < places.size(); ++i) {
      ends[places[i]] = answers[k].ValueAsInt(static_cast<int64_t>(i));
      ends[num_edges + places[i]] = answers[k].ValueAsInt(static_cast<int64_t>(places.size() + i));
    }
  }
  return Tensor::FromVector(std::move(ends), {2, static_cast<int64_t>(num_edges)});
}

Result<Tensor> PartitionedGraph::GatherEdgeRows(EdgeTypeId type, const std::string& column,
                                                std::span<const GlobalEdgeId> edges, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckEdgeType(type));
  if (const std::optional<TensorHandle> tensor = state_->FindAttached(RowSpace::Edges(type), column)) {
    std::vector<GlobalRowId> rows;
    for (const GlobalEdgeId edge : edges) rows.emplace_back(edge.value);
    return state_->tensors.Read(*tensor, rows, deadline);
  }
  ASSIGN_OR_RETURN(EdgeRoute routed, RouteEdges(book(), type, edges));
  const auto route = std::make_shared<const EdgeRoute>(std::move(routed));
  std::vector<PartitionId> requested = FindRequestedPartitions(route->edges);
  // A request for no rows is still sent, because only an owner knows the shape of a row.
  if (requested.empty()) requested.push_back(PartitionId(0));
  const auto fan_out = std::make_shared<PartitionFanOut<Tensor>>(requested, route);
  for (size_t k = 0; k < requested.size(); ++k) {
    state_->partitions[requested[k].value]->GatherEdgeRows(type, column, route->edges[requested[k].value], deadline,
                                                           fan_out->Slot(k));
  }
  Result<std::vector<Tensor>> answers = fan_out->Wait(deadline);
  if (!answers.ok()) {
    const bool unknown = answers.status().code() == StatusCode::kNotFound;
    return unknown ? answers.status().While("no tensor is attached as '" + column + "'") : answers.status();
  }
  SeedRows rows(edges.size());
  for (size_t k = 0; k < requested.size(); ++k) {
    const Tensor places = Tensor::FromVector(route->places[requested[k].value]);
    RETURN_IF_ERROR(rows.Add(requested[k].value, places, (*answers)[k]));
  }
  return rows.Take();
}

}  // namespace espalier::sampler
