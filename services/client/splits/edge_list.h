// A list of edges of one type, given by their endpoints, in the memory of the program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/client/graph/dist_graph.h"

namespace espalier::client {

// Default number of edges per query. The edges of one query are held in memory in addition to the result.
inline constexpr uint64_t kEdgesPerRequest = uint64_t{1} << 20;

struct EdgeList {
  EdgeTypeId type;
  std::vector<GlobalNodeId> sources = {};       // [edges]
  std::vector<GlobalNodeId> destinations = {};  // [edges]
  // [edges], or empty. Lists of ReadSplitEdges have no ids: splits store pairs of nodes, which need not be edges of the
  // graph, because validation and test edges may be held out.
  std::vector<GlobalEdgeId> ids = {};
  // By edge column: [edges, row shape...], for columns that were read with the list. If the list has ids, rows can also
  // be read later (DistGraph::GatherEdgeRows).
  std::map<std::string, Tensor> rows = {};

  size_t size() const { return destinations.size(); }
};

// Returns the edges with their endpoints in the order of `ids`, which may repeat. InvalidArgument: there is no such
// type, an edge does not exist (the message names it), or edges_per_request is 0.
Result<EdgeList> MakeEdgeList(const DistGraph& graph, EdgeTypeId type, std::vector<GlobalEdgeId> ids,
                              uint64_t edges_per_request = kEdgesPerRequest);
// Returns all edges of one part of a split in the order of the input files, without ids. NotFound: there is no such
// split. InvalidArgument: there is no such type, or edges_per_request is 0 or so small that more than 2^32 queries are
// needed.
Result<EdgeList> ReadSplitEdges(const DistGraph& graph, EdgeTypeId type, const std::string& split,
                                graph::SplitPartName part, uint64_t edges_per_request = kEdgesPerRequest);

}  // namespace espalier::client
