// A counting sort by destination places the edges; a small sort then orders the in-edges of each node. In this file,
// the row of an edge is its position in the edge list of the SourceGraph. Only the source node and the row of an edge
// are placed, so the small sort and the translation of source nodes to global IDs do not read sources and destinations
// again. The destinations are read twice and the sources once, each time from the beginning to the end, because they
// may be mapped and larger than memory. The small sort reads times and original edge IDs, if there are any, at random
// positions. Threads place the in-edges of a node in any order, but the small sort has no ties (its last key is the
// row), so the result does not depend on that order. Memory: the CSC itself, the row of each in-edge, and, for each
// thread, sort keys for all in-edges of one node.
#include "services/partition/in_edges.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <tuple>

#include "services/base/parallel.h"
#include "services/graph/id_values.h"
#include "services/partition/id_width.h"

namespace espalier::partition {
namespace {

constexpr int64_t kEdgeGrain = 1 << 18;
constexpr int64_t kNodeGrain = 1 << 12;

// Returns the time as an unsigned number that preserves the order. -0 equals 0; NaN does not occur
// (ValidateSourceGraph).
uint64_t TimeKey(const Tensor& times, int64_t edge) {
  constexpr uint64_t kSignBit = uint64_t{1} << 63;
  if (times.dtype() == DType::kU64) return times.values<uint64_t>()[static_cast<size_t>(edge)];
  if (!IsFloating(times.dtype())) return static_cast<uint64_t>(times.ValueAsInt(edge)) ^ kSignBit;
  const double time = times.ValueAsDouble(edge);
  const auto bits = std::bit_cast<uint64_t>(time == 0 ? 0.0 : time);
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}

// One partition's view of one edge type. S is the type of the source graph's IDs.
template <class S>
struct EdgeView {
  std::span<const S> sources;
  std::span<const S> destinations;
  std::span<const uint64_t> original_ids;  // of the edges; empty: an edge's original ID is its row
  const Tensor* times = nullptr;           // null: not ordered by time
  uint64_t first_owned = 0;                // first global ID of the destinations that the partition owns
  uint64_t num_owned = 0;
};

struct SortKey {
  uint64_t time, source, original_edge_id, row;
  friend auto operator<=>(const SortKey&, const SortKey&) = default;
};

// Calls body(row of the edge, local ID of its destination) for every in-edge of the partition.
template <class S, class G, class Body>
void ForOwnedEdges(const EdgeView<S>& view, std::span<const G> global_of_destination, int threads, const Body& body) {
  ParallelFor(threads, static_cast<int64_t>(view.destinations.size()), kEdgeGrain, [&](int64_t begin, int64_t end) {
    for (auto edge = static_cast<size_t>(begin); edge < static_cast<size_t>(end); ++edge) {
      const uint64_t local = global_of_destination[graph::ToId(view.destinations[edge])] - view.first_owned;
      if (local < view.num_owned) body(edge, local);  // `local` wraps around if the global ID is below first_owned
    }
  });
}

// Turns numbers of in-edges into indptr [n + 1]: on entry, indptr[i + 1] is the number of in-edges of node i.
template <class P>
void SumLengths(std::span<P> indptr) {
  for (size_t i = 1; i < indptr.size(); ++i) indptr[i] += indptr[i - 1];
}

// Placed edges: the ID of the source node (its original ID, later its global ID) and the row of the edge.
template <class I, class R>
struct PlacedEdges {
  std::span<I> indices;
  std::span<R> rows;
};

// Sorts the edges by (source, row), packed into one integer.
void SortPairs(const PlacedEdges<uint32_t, uint32_t>& edges, std::vector<uint64_t>* scratch) {
  scratch->resize(edges.rows.size());
  for (size_t k = 0; k < edges.rows.size(); ++k) {
    (*scratch)[k] = uint64_t{edges.indices[k]} << 32 | edges.rows[k];
  }
  std::sort(scratch->begin(), scratch->end());
  for (size_t k = 0; k < edges.rows.size(); ++k) {
    edges.indices[k] = static_cast<uint32_t>((*scratch)[k] >> 32);
    edges.rows[k] = static_cast<uint32_t>((*scratch)[k]);
  }
}

// Sorts the edges by all members of SortKey.
template <class S, class I, class R>
void SortKeys(const EdgeView<S>& view, const PlacedEdges<I, R>& edges, std::vector<SortKey>* scratch) {
  scratch->clear();
  for (size_t k = 0; k < edges.rows.size(); ++k) {
    const R row = edges.rows[k];
    scratch->push_back({.time = view.times == nullptr ? 0 : TimeKey(*view.times, static_cast<int64_t>(row)),
                        .source = edges.indices[k],
                        .original_edge_id = view.original_ids.empty() ? row : view.original_ids[row],
                        .row = row});
  }
  std::sort(scratch->begin(), scratch->end());
  for (size_t k = 0; k < edges.rows.size(); ++k) {
    edges.indices[k] = static_cast<I>((*scratch)[k].source);
    edges.rows[k] = static_cast<R>((*scratch)[k].row);
  }
}

// Fills indptr and, per destination, the sorted sources and rows of its in-edges. Integer types: P of indptr, I of
// indices, R of rows, S of the source graph's IDs, G of the global IDs of destinations.
template <class P, class I, class R, class S, class G>
void PlaceEdges(const EdgeView<S>& view, std::span<const G> global_of_destination, std::span<P> indptr,
                const PlacedEdges<I, R>& placed, int threads) {
  ForOwnedEdges(view, global_of_destination, threads, [&](size_t, uint64_t local) {
    std::atomic_ref<P>(indptr[local + 1]).fetch_add(1, std::memory_order_relaxed);
  });
  SumLengths(indptr);
  // The start of each node's in-edges serves as their write cursor, which ends at the start of the next node's
  // in-edges. Shifting by one restores indptr.
  ForOwnedEdges(view, global_of_destination, threads, [&](size_t edge, uint64_t local) {
    const P position = std::atomic_ref<P>(indptr[local]).fetch_add(1, std::memory_order_relaxed);
    placed.indices[position] = static_cast<I>(graph::ToId(view.sources[edge]));
    placed.rows[position] = static_cast<R>(edge);
  });
  std::copy_backward(indptr.begin(), indptr.end() - 1, indptr.end());
  indptr[0] = 0;
  constexpr bool kFitsPair = sizeof(I) == sizeof(uint32_t) && sizeof(R) == sizeof(uint32_t);
  const bool is_by_source = view.times == nullptr && view.original_ids.empty();
  ParallelFor(threads, static_cast<int64_t>(view.num_owned), kNodeGrain, [&](int64_t begin, int64_t end) {
    std::vector<SortKey> keys;
    std::vector<uint64_t> pairs;
    for (auto node = static_cast<size_t>(begin); node < static_cast<size_t>(end); ++node) {
      const size_t first = indptr[node], count = indptr[node + 1] - first;
      const PlacedEdges<I, R> of_node{.indices = placed.indices.subspan(first, count),
                                      .rows = placed.rows.subspan(first, count)};
      if constexpr (kFitsPair) {
        if (is_by_source) {
          SortPairs(of_node, &pairs);
          continue;
        }
      }
      SortKeys(view, of_node, &keys);
    }
  });
}

// Replaces the sources by their global IDs.
template <class I>
void ToGlobalIds(std::span<I> indices, std::span<const I> global_of_source, int threads) {
  ParallelFor(threads, static_cast<int64_t>(indices.size()), kEdgeGrain, [&](int64_t begin, int64_t end) {
    for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
      indices[k] = global_of_source[indices[k]];
    }
  });
}

// Calls body(T{}) with T = uint32_t or uint64_t.
template <class Body>
void VisitWidth(DType width, const Body& body) {
  if (width == DType::kU32) {
    body(uint32_t{});
  } else {
    body(uint64_t{});
  }
}

template <class S>
void Build(const EdgeView<S>& view, const Tensor& global_of_source, const Tensor& global_of_destination, int threads,
           OrderedInEdges* in_edges) {
  // The indices first hold the original IDs of the source nodes, then their global IDs. Both are below the number of
  // source nodes, so both fit the width of the global IDs.
  VisitWidth(global_of_source.dtype(), [&]<class I>(I) {
    const std::span<I> indices = in_edges->csc.indices.mutable_values<I>();
    VisitWidth(in_edges->csc.indptr.dtype(), [&]<class P>(P) {
      VisitWidth(in_edges->input_rows.dtype(), [&]<class R>(R) {
        VisitWidth(global_of_destination.dtype(), [&]<class G>(G) {
          PlaceEdges(view, global_of_destination.values<G>(), in_edges->csc.indptr.mutable_values<P>(),
                     PlacedEdges<I, R>{.indices = indices, .rows = in_edges->input_rows.mutable_values<R>()}, threads);
        });
      });
    });
    ToGlobalIds(indices, global_of_source.values<I>(), threads);
  });
}

}  // namespace

OrderedInEdges BuildInEdges(const graph::SourceGraph& graph, const PartitionLayout& layout, PartitionId partition,
                            EdgeTypeId type, const std::string& time_column, int threads) {
  const graph::EdgeSet& edges = graph.edges_of(type);
  const NodeTypeId source_type = graph.schema.SourceOf(type), destination_type = graph.schema.DestinationOf(type);
  const uint64_t num_owned = layout.book.NumOwnedNodes(partition, destination_type);
  const uint64_t num_in_edges = layout.book.NumOwnedEdges(partition, type);
  const Tensor& global_of_source = layout.global_ids[source_type.value];
  const auto times = edges.columns.find(time_column);

  OrderedInEdges in_edges;
  in_edges.csc.indptr = Tensor::Zeros(WidthFor(num_in_edges), {static_cast<int64_t>(num_owned) + 1});
  in_edges.csc.indices = Tensor::Zeros(global_of_source.dtype(), {static_cast<int64_t>(num_in_edges)});
  in_edges.input_rows = Tensor::Zeros(WidthFor(edges.num_edges()), {static_cast<int64_t>(num_in_edges)});
  graph::VisitIds(edges.sources, [&](auto sources) {
    using S = typename decltype(sources)::value_type;
    const EdgeView<S> view{.sources = sources,
                           .destinations = edges.destinations.values<S>(),
                           .original_ids = edges.original_ids.empty() ? std::span<const uint64_t>()
                                                                      : edges.original_ids.values<uint64_t>(),
                           .times = time_column.empty() || times == edges.columns.end() ? nullptr : &times->second,
                           .first_owned = layout.book.NodeFirst(destination_type)[partition.value],
                           .num_owned = num_owned};
    Build(view, global_of_source, layout.global_ids[destination_type.value], threads, &in_edges);
  });
  return in_edges;
}

}  // namespace espalier::partition
