// MakeEdgeList reads endpoints with FindEdges, ReadSplitEdges with SplitReader, in queries of edges_per_request edges,
// so that the messages for a long list stay below the size limit.
#include "services/client/splits/edge_list.h"

#include <algorithm>
#include <utility>

#include "services/client/graph/split_reader.h"

namespace espalier::client {

Result<EdgeList> MakeEdgeList(const DistGraph& graph, EdgeTypeId type, std::vector<GlobalEdgeId> ids,
                              uint64_t edges_per_request) {
  if (edges_per_request == 0) return InvalidArgument("edges_per_request is 0, expected at least 1");
  RETURN_IF_ERROR(graph.schema().CheckEdgeType(type));
  EdgeList edges{.type = type};
  edges.sources.reserve(ids.size());
  edges.destinations.reserve(ids.size());
  for (uint64_t first = 0; first < ids.size(); first += edges_per_request) {
    const uint64_t count = std::min<uint64_t>(edges_per_request, ids.size() - first);
    const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(first);
    ASSIGN_OR_RETURN(const Tensor ends,
                     graph.FindEdges(type, std::vector(begin, begin + static_cast<std::ptrdiff_t>(count))));
    const std::span<const int64_t> values = ends.values<int64_t>();
    for (uint64_t i = 0; i < count; ++i) edges.sources.emplace_back(static_cast<uint64_t>(values[i]));
    for (uint64_t i = 0; i < count; ++i) edges.destinations.emplace_back(static_cast<uint64_t>(values[count + i]));
  }
  edges.ids = std::move(ids);
  return edges;
}

Result<EdgeList> ReadSplitEdges(const DistGraph& graph, EdgeTypeId type, const std::string& split,
                                graph::SplitPartName part, uint64_t edges_per_request) {
  if (edges_per_request == 0) return InvalidArgument("edges_per_request is 0, expected at least 1");
  SplitReader reader(graph, type, split, part, edges_per_request);
  ASSIGN_OR_RETURN(const uint64_t total, reader.Count());
  EdgeList edges{.type = type};
  edges.sources.reserve(total);
  edges.destinations.reserve(total);
  RETURN_IF_ERROR(reader.Read({0, total}, [&](const SplitItem& item) {
    edges.sources.push_back(item.source);
    edges.destinations.push_back(item.node);
  }));
  return edges;
}

}  // namespace espalier::client
