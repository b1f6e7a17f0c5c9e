#include "services/partition/parallel_edges.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::partition {
namespace {

// Returns a function that reads element i of U32 or U64 IDs.
auto MakeReader(const Tensor& ids) {
  const bool is_narrow = ids.dtype() == DType::kU32;
  const auto narrow = is_narrow ? ids.values<uint32_t>() : std::span<const uint32_t>();
  const auto wide = is_narrow ? std::span<const uint64_t>() : ids.values<uint64_t>();
  return [narrow, wide](uint64_t i) -> uint64_t { return narrow.empty() ? wide[i] : narrow[i]; };
}

// Returns the positions as U32 if `num_edges` fits in it, otherwise as U64.
Tensor ToNarrowestTensor(std::vector<uint64_t> positions, uint64_t num_edges) {
  if (num_edges > std::numeric_limits<uint32_t>::max()) return Tensor::FromVector(std::move(positions));
  return Tensor::FromVector(std::vector<uint32_t>(positions.begin(), positions.end()));
}

}  // namespace

Tensor FindSelectedPositions(const graph::InEdges& in_edges, const Tensor& original_ids, const SelectedEdges& pairs) {
  const auto indptr = MakeReader(in_edges.indptr), indices = MakeReader(in_edges.indices),
             ids = MakeReader(original_ids);
  const auto unspecified = static_cast<uint64_t>(in_edges.indices.num_rows());
  const auto source_of = [&](size_t pair) { return pairs.sources[pair]; };
  const auto destination_of = [&](size_t pair) { return pairs.destinations[pair]; };
  const auto edge_of = [&](size_t pair) { return pairs.edge_ids[pair]; };
  std::vector<size_t> order(pairs.sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Pairs with the same endpoints are sorted by edge ID, so that a binary search finds the pairs that select an edge
  // even if it has many parallel edges.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(destination_of(a), source_of(a), edge_of(a)) <
           std::tuple(destination_of(b), source_of(b), edge_of(b));
  });
  std::vector<uint64_t> positions(order.size(), unspecified);
  // If order[i] is the first pair with its endpoints, element i is the number of edges between them; otherwise 0.
  std::vector<uint64_t> num_edges(order.size(), 0);
  for (auto first = order.begin(); first != order.end();) {
    const uint32_t destination = destination_of(*first);
    const auto last =
        std::find_if(first, order.end(), [&](size_t pair) { return destination_of(pair) != destination; });
    for (uint64_t edge = indptr(destination); edge < indptr(destination + uint64_t{1}); ++edge) {
      const auto same_begin = std::ranges::lower_bound(first, last, indices(edge), {}, source_of);
      const auto same_end = std::ranges::upper_bound(same_begin, last, indices(edge), {}, source_of);
      if (same_begin == same_end) continue;
      ++num_edges[static_cast<size_t>(same_begin - order.begin())];
      auto pair = std::ranges::lower_bound(same_begin, same_end, ids(edge), {}, edge_of);
      for (; pair != same_end && edge_of(*pair) == ids(edge); ++pair) positions[*pair] = edge;
    }
    first = last;
  }
  bool any_is_specified = false;
  size_t first_of_ends = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t pair = order[i], first = order[first_of_ends];
    if (destination_of(pair) != destination_of(first) || source_of(pair) != source_of(first)) first_of_ends = i;
    if (num_edges[first_of_ends] < 2) positions[pair] = unspecified;
    any_is_specified = any_is_specified || positions[pair] != unspecified;
  }
  return any_is_specified ? ToNarrowestTensor(std::move(positions), unspecified) : Tensor();
}

}  // namespace espalier::partition
