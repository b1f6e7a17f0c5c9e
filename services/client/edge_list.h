// A list of edges of one type, by their end nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/client/dist_graph.h"

namespace espalier::client {

// What is held, or asked for, at a time beside the result.
inline constexpr uint64_t kEdgesPerRequest = uint64_t{1} << 20;

struct EdgeList {
  EdgeTypeId type;
  std::vector<GlobalNodeId> sources = {};       // [edges]
  std::vector<GlobalNodeId> destinations = {};  // [edges]
  // [edges], or empty: a split keeps pairs, which need not be edges of the graph (those that are only measured are
  // held out of it).
  std::vector<GlobalEdgeId> ids = {};
  // [edges, row shape...] by edge column, where they are kept with the list; those of a list with ids can be read later
  // (DistGraph::GatherEdgeRows).
  std::map<std::string, Tensor> rows = {};

  size_t size() const { return destinations.size(); }
};

// Returns the edges with these ids, in the order of `ids`, which may repeat. InvalidArgument names an edge that does
// not exist.
Result<EdgeList> MakeEdgeList(const DistGraph& graph, EdgeTypeId type, std::vector<GlobalEdgeId> ids,
                              uint64_t edges_per_request = kEdgesPerRequest);
// Returns all edges of a part of a split in the order of the input, without ids. NotFound: the split does not exist.
Result<EdgeList> SplitEdges(const DistGraph& graph, EdgeTypeId type, const std::string& split,
                            graph::SplitPartName part, uint64_t edges_per_request = kEdgesPerRequest);

}  // namespace espalier::client
