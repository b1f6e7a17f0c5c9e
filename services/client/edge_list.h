// Edges as a program holds them: one type, by their ends.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/client/dist_graph.h"

namespace espalier::client {

// What is held, or asked for, at a time beside the result.
inline constexpr uint64_t kEdgesPerQuestion = uint64_t{1} << 20;

struct EdgeList {
  EdgeTypeId type;
  std::vector<GlobalNodeId> sources = {};       // [edges]
  std::vector<GlobalNodeId> destinations = {};  // [edges]
  // [edges], or empty: a split keeps pairs, which need not be edges of the graph (those that are only measured are
  // held out of it).
  std::vector<GlobalEdgeId> ids = {};
  // [edges, row shape...] by edge column, where they are kept with the list; those of a list with ids can be read later
  // (DistGraph::EdgeRows).
  std::map<std::string, Tensor> rows = {};

  size_t size() const { return destinations.size(); }
};

// The ends of edges, in the order of `ids`, repetitions allowed. InvalidArgument names an edge that does not exist.
Result<EdgeList> EdgesOf(const DistGraph& graph, EdgeTypeId type, std::vector<GlobalEdgeId> ids,
                         uint64_t edges_per_question = kEdgesPerQuestion);
// All edges of a split's part in the user's order, without ids. NotFound where the split does not exist.
Result<EdgeList> SplitEdges(const DistGraph& graph, EdgeTypeId type, const std::string& split,
                            graph::SplitPartName part, uint64_t edges_per_question = kEdgesPerQuestion);

}  // namespace espalier::client
