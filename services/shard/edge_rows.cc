#include "services/shard/edge_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "services/shard/id_array.h"

namespace espalier::shard {
namespace {

constexpr uint64_t kNoEdge = std::numeric_limits<uint64_t>::max();

}  // namespace

Result<Tensor> RowsOfEdges(const graph::InEdges& in_edges, const Tensor& original_ids, const Tensor& column,
                           std::span<const uint64_t> sources, std::span<const uint64_t> destinations,
                           uint64_t max_lookups) {
  const auto name = [&](size_t pair) {
    return "a pair that leads to node " + std::to_string(IdArray(original_ids)[destinations[pair]]) +
           " (from the node of global id " + std::to_string(sources[pair]) + ")";
  };
  // In-edges of a node are ordered by more than their sources' global ids, so a node's are walked once for all pairs
  // that lead to it.
  std::vector<size_t> order(sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(destinations[a], sources[a]) < std::pair(destinations[b], sources[b]);
  });
  const IdArray indptr(in_edges.indptr), indices(in_edges.indices);
  const size_t row_bytes = column.row_bytes();
  std::vector<uint64_t> position(sources.size(), kNoEdge);
  uint64_t lookups = 0;
  for (size_t first = 0; first < order.size();) {
    const uint64_t destination = destinations[order[first]];
    size_t last = first;
    while (last < order.size() && destinations[order[last]] == destination) ++last;
    const uint64_t begin = indptr[destination], end = indptr[destination + 1];
    if (end - begin > max_lookups - lookups) {
      return ResourceExhausted("finding the edges takes more than " + std::to_string(max_lookups) +
                               " look-ups: ask for less at once");
    }
    lookups += end - begin;
    for (uint64_t edge = begin; edge < end; ++edge) {
      const uint64_t source = indices[edge];
      auto at = std::lower_bound(order.begin() + static_cast<std::ptrdiff_t>(first),
                                 order.begin() + static_cast<std::ptrdiff_t>(last), source,
                                 [&](size_t pair, uint64_t id) { return sources[pair] < id; });
      for (; at != order.begin() + static_cast<std::ptrdiff_t>(last) && sources[*at] == source; ++at) {
        uint64_t& found = position[*at];
        if (found == kNoEdge) {
          found = edge;
        } else if (std::memcmp(column.bytes() + found * row_bytes, column.bytes() + edge * row_bytes, row_bytes) != 0) {
          return InvalidArgument(name(*at) +
                                 " is several edges whose rows differ, and cannot say which is meant: keep "
                                 "one of them (dropDuplicateEdges)");
        }
      }
    }
    first = last;
  }
  std::vector<int64_t> shape = column.shape();
  shape[0] = static_cast<int64_t>(sources.size());
  Tensor rows = Tensor::Zeros(column.dtype(), std::move(shape));
  for (size_t i = 0; i < position.size(); ++i) {
    if (position[i] == kNoEdge) return InvalidArgument(name(i) + " is no edge of the graph and has no row");
    if (row_bytes == 0) continue;
    std::memcpy(rows.mutable_bytes() + i * row_bytes, column.bytes() + position[i] * row_bytes, row_bytes);
  }
  return rows;
}

}  // namespace espalier::shard
