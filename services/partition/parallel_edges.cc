#include "services/partition/parallel_edges.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::partition {
namespace {

// Element i of U32 or U64 ids.
auto ReaderOf(const Tensor& ids) {
  const bool is_narrow = ids.dtype() == DType::kU32;
  const auto narrow = is_narrow ? ids.values<uint32_t>() : std::span<const uint32_t>();
  const auto wide = is_narrow ? std::span<const uint64_t>() : ids.values<uint64_t>();
  return [narrow, wide](uint64_t i) -> uint64_t { return narrow.empty() ? wide[i] : narrow[i]; };
}

// At the width of indptr.
Tensor NarrowedWhereAllFit(std::vector<uint64_t> positions, uint64_t num_edges) {
  if (num_edges > std::numeric_limits<uint32_t>::max()) return Tensor::FromVector(std::move(positions));
  return Tensor::FromVector(std::vector<uint32_t>(positions.begin(), positions.end()));
}

}  // namespace

Tensor PositionsOfMeantEdges(const graph::InEdges& in_edges, const Tensor& original_ids, const MeantEdges& pairs) {
  const auto indptr = ReaderOf(in_edges.indptr), indices = ReaderOf(in_edges.indices), ids = ReaderOf(original_ids);
  const auto not_said = static_cast<uint64_t>(in_edges.indices.num_rows());
  std::vector<size_t> order(pairs.sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(pairs.destinations[a], pairs.sources[a]) < std::tie(pairs.destinations[b], pairs.sources[b]);
  });
  std::vector<uint64_t> positions(order.size(), not_said);
  std::vector<bool> is_edge(order.size(), false), is_several(order.size(), false);
  for (auto first = order.begin(); first != order.end();) {
    const uint32_t destination = pairs.destinations[*first];
    const auto last =
        std::find_if(first, order.end(), [&](size_t pair) { return pairs.destinations[pair] != destination; });
    for (uint64_t edge = indptr(destination); edge < indptr(destination + uint64_t{1}); ++edge) {
      const uint64_t source = indices(edge);
      auto at =
          std::lower_bound(first, last, source, [&](size_t pair, uint64_t id) { return pairs.sources[pair] < id; });
      for (; at != last && pairs.sources[*at] == source; ++at) {
        is_several[*at] = is_edge[*at];
        is_edge[*at] = true;
        if (pairs.edge_ids[*at] == ids(edge)) positions[*at] = edge;
      }
    }
    first = last;
  }
  bool any_is_said = false;
  for (size_t i = 0; i < positions.size(); ++i) {
    if (!is_several[i]) positions[i] = not_said;
    any_is_said = any_is_said || positions[i] != not_said;
  }
  return any_is_said ? NarrowedWhereAllFit(std::move(positions), not_said) : Tensor();
}

}  // namespace espalier::partition
