// Deterministic parallel local search over vertices.
//
// Vertices are visited in batches, whose size depends only on the number of vertices. The threads choose a move for
// each vertex of a batch from the state before the batch, then one thread applies the moves in order and skips those
// that no longer fit. Neither step depends on the number of threads. A batch is a small part of a large graph, so few
// moves are based on outdated values of neighbors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/parallel.h"
#include "services/base/permutation.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partition {

inline constexpr uint64_t kValuesAhead = 16;  // distance in neighbors at which values are prefetched

// Returns the vertices in a random order that `key` determines: [num_vertices].
inline std::vector<uint32_t> ShuffledVertices(uint64_t key, uint64_t num_vertices, int threads) {
  std::vector<uint32_t> order(num_vertices);
  const Permutation permutation(key, num_vertices);
  ParallelFor(threads, static_cast<int64_t>(num_vertices), int64_t{1} << 13, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<uint64_t>(begin); i < static_cast<uint64_t>(end); ++i) {
      order[i] = static_cast<uint32_t>(permutation.At(i));
    }
  });
  return order;
}

// For each batch of `order`, calls choose(vertices, moves) on disjoint ranges of the batch from up to `threads`
// threads, to set moves[i] for vertices[i], and then calls apply(vertices, moves) once for the whole batch.
template <class Move, class Choose, class Apply>
void ForVertexBatches(std::span<const uint32_t> order, int threads, const Choose& choose, const Apply& apply) {
  constexpr size_t kBatches = 64, kMinBatch = 256;
  constexpr int64_t kGrain = 128;  // vertices
  const size_t batch = std::max(order.size() / kBatches, kMinBatch);
  std::vector<Move> moves(std::min(batch, order.size()));
  for (size_t first = 0; first < order.size(); first += batch) {
    const std::span<const uint32_t> vertices = order.subspan(first, std::min(batch, order.size() - first));
    ParallelFor(threads, static_cast<int64_t>(vertices.size()), kGrain, [&](int64_t begin, int64_t end) {
      const auto from = static_cast<size_t>(begin), count = static_cast<size_t>(end - begin);
      choose(vertices.subspan(from, count), std::span(moves).subspan(from, count));
    });
    apply(vertices, std::span<const Move>(moves).first(vertices.size()));
  }
}

// Prefetches the first neighbors and edge weights of a vertex that will be visited soon.
inline void PrefetchRow(const UndirectedGraph& graph, uint64_t vertex) {
  constexpr uint64_t kLine = 16;  // neighbors in a cache line
  for (uint64_t line = 0; line < 4; ++line) {
    // An address beyond the end must not even be computed.
    const uint64_t place = std::min<uint64_t>(graph.offsets[vertex] + line * kLine, graph.neighbors.size());
    __builtin_prefetch(graph.neighbors.data() + place);
    if (!graph.weights.empty()) __builtin_prefetch(graph.weights.data() + place);
  }
}

// Prefetches values[neighbor] for the first neighbors of the vertex that will be visited next.
template <class Value>
void PrefetchFirstNeighbors(const UndirectedGraph& graph, uint64_t vertex, const std::vector<Value>& values) {
  const uint64_t begin = graph.offsets[vertex], end = std::min(graph.offsets[vertex + 1], begin + kValuesAhead);
  for (uint64_t k = begin; k < end; ++k) __builtin_prefetch(&values[graph.neighbors[k]]);
}

// Calls body(neighbor, edge weight) for every `step`-th neighbor of the vertex, and prefetches values[neighbor]
// kValuesAhead calls earlier.
template <class Values, class Body>
void ForNeighbors(const UndirectedGraph& graph, uint64_t vertex, uint64_t step, const Values& values,
                  const Body& body) {
  const uint64_t begin = graph.offsets[vertex], end = graph.offsets[vertex + 1], ahead = step * kValuesAhead;
  for (uint64_t k = begin; k < end; k += step) {
    if (k + ahead < end) __builtin_prefetch(&values[graph.neighbors[k + ahead]]);
    body(graph.neighbors[k], graph.WeightAt(k));
  }
}

}  // namespace espalier::partition
