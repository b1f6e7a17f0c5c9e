// Edges are looked up by their endpoints as follows: the pairs are sorted by (destination, source), and the in-edges of
// each distinct destination are scanned once, with a binary search for every in-edge among the pairs of that
// destination. Pairs for which the split stores the position of the edge skip the search. The cost is the sum of the
// in-degrees of the distinct destinations, which max_lookups bounds.
#include "services/shard/edge_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/select_rows.h"
#include "services/shard/id_array.h"

namespace espalier::shard {
namespace {

constexpr uint64_t kNoEdge = std::numeric_limits<uint64_t>::max();

// Returns the position of each pair's edge: the requested position or, if the pair has none, that of the first edge
// with the pair's endpoints. If is_same(first position, position) is false for a later such edge, returns
// InvalidArgument with a message that the pair matches `several`, a phrase such as "several edges".
template <class IsSame>
Result<std::vector<uint64_t>> FindPositions(const graph::InEdges& in_edges, const Tensor& original_ids,
                                            const RequestedEdges& requested, uint64_t max_lookups, const char* several,
                                            IsSame is_same) {
  const std::span<const uint64_t> sources = requested.sources, destinations = requested.destinations;
  const auto name = [&](size_t pair) {
    return "the pair with source " + std::to_string(sources[pair]) + " (global id) and destination " +
           std::to_string(IdArray(original_ids)[destinations[pair]]) + " (original id)";
  };
  const IdArray indptr(in_edges.indptr), indices(in_edges.indices);
  std::vector<uint64_t> position(sources.size(), kNoEdge);
  std::vector<size_t> order;  // pairs without a position
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!requested.positions.empty() && requested.positions[i] < indices.size()) {
      position[i] = requested.positions[i];
    } else {
      order.push_back(i);
    }
  }
  // A node's in-edges are not ordered by their sources' global ids, so they are scanned once for all pairs with this
  // destination.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(destinations[a], sources[a]) < std::pair(destinations[b], sources[b]);
  });
  const auto source_of = [&](size_t pair) { return sources[pair]; };
  uint64_t lookups = 0;
  for (size_t first = 0; first < order.size();) {
    const uint64_t destination = destinations[order[first]];
    size_t last = first;
    while (last < order.size() && destinations[order[last]] == destination) ++last;
    const uint64_t begin = indptr[destination], end = indptr[destination + 1];
    if (end - begin > max_lookups - lookups) {
      return ResourceExhausted("finding the edges needs more than " + std::to_string(max_lookups) +
                               " lookups: send a smaller request");
    }
    lookups += end - begin;
    const auto group = std::span(order).subspan(first, last - first);
    for (uint64_t edge = begin; edge < end; ++edge) {
      // The first of several equal pairs represents all of them.
      const auto at = std::ranges::lower_bound(group, indices[edge], {}, source_of);
      if (at == group.end() || sources[*at] != indices[edge]) continue;
      uint64_t& found = position[*at];
      if (found == kNoEdge) {
        found = edge;
      } else if (!is_same(found, edge)) {
        return InvalidArgument(name(*at) + " matches " + several +
                               ", and the split does not say which of them it means: name the split's edges by their "
                               "numbers and partition the graph again, or keep only one of them (dropDuplicateEdges)");
      }
    }
    for (size_t i = 1; i < group.size(); ++i) {
      if (sources[group[i]] == sources[group[i - 1]]) position[group[i]] = position[group[i - 1]];
    }
    first = last;
  }
  for (size_t i = 0; i < position.size(); ++i) {
    if (position[i] == kNoEdge) return InvalidArgument(name(i) + " is not an edge of the graph");
  }
  return position;
}

}  // namespace

Result<std::vector<uint64_t>> FindEdgePositions(const graph::InEdges& in_edges, const Tensor& original_ids,
                                                const RequestedEdges& requested, uint64_t max_lookups) {
  const auto never = [](uint64_t, uint64_t) { return false; };
  return FindPositions(in_edges, original_ids, requested, max_lookups, "several edges", never);
}

Result<Tensor> FindEdgeRows(const graph::InEdges& in_edges, const Tensor& original_ids, const Tensor& column,
                            const RequestedEdges& requested, uint64_t max_lookups) {
  const size_t row_bytes = column.row_bytes();
  const auto are_rows_equal = [&](uint64_t a, uint64_t b) {
    return std::memcmp(column.bytes() + a * row_bytes, column.bytes() + b * row_bytes, row_bytes) == 0;
  };
  ASSIGN_OR_RETURN(
      const std::vector<uint64_t> positions,
      FindPositions(in_edges, original_ids, requested, max_lookups, "several edges whose rows differ", are_rows_equal));
  return SelectRows<uint64_t>(column, positions);
}

}  // namespace espalier::shard
