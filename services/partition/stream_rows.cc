// If the endpoints of all edges do not fit into memory, a file for the neighbors is created first, so that a full disk
// is found early. One pass over the edges counts the neighbors of each row. Then the rows are divided into chunks that
// fit into memory, and one more pass for each chunk places the neighbors of its rows with atomic cursors; the chunk is
// appended to the file. With enough memory there is one chunk, which stays in memory. Edge lists are read from the
// beginning to the end, which suits mapped files. The rows are in the order in which the algorithm Streaming visits
// them, so each of its passes over the vertices reads them from the beginning to the end too.
//
// Threads write the neighbors of a row in any order, because Streaming only counts them. To compute repetitions(), rows
// are then sorted until two neighbors that do not occur equally often are found. If there are such neighbors, they are
// usually in the first few rows.
#include "services/partition/stream_rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "services/base/parallel.h"
#include "services/graph/id_values.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partition {
namespace {

constexpr int64_t kEndpointsGrain = 1 << 18;
constexpr int64_t kSortGrain = 1 << 12;
constexpr uint32_t kNoneSeen = 0;
constexpr uint32_t kSeveralSeen = ~uint32_t{0};

// Calls body(row, neighbor) for both endpoints of every edge that is not a self loop, on several threads.
template <class Body>
void ForEndpoints(const graph::SourceGraph& graph, const std::vector<uint32_t>& row_of_vertex, int threads,
                  const Body& body) {
  const std::vector<uint64_t> vertex_first = VertexFirst(graph);
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const graph::EdgeSet& edges = graph.edges[type];
    const uint64_t first_source = vertex_first[graph.schema.SourceOf(EdgeTypeId(type)).value];
    const uint64_t first_destination = vertex_first[graph.schema.DestinationOf(EdgeTypeId(type)).value];
    graph::VisitIds(edges.sources, [&](auto sources) {
      const auto destinations = edges.destinations.values<typename decltype(sources)::value_type>();
      ParallelFor(threads, static_cast<int64_t>(edges.num_edges()), kEndpointsGrain, [&](int64_t begin, int64_t end) {
        for (auto edge = static_cast<size_t>(begin); edge < static_cast<size_t>(end); ++edge) {
          const uint64_t u = first_source + graph::ToId(sources[edge]),
                         v = first_destination + graph::ToId(destinations[edge]);
          if (u == v) continue;
          body(row_of_vertex[u], static_cast<uint32_t>(v));
          body(row_of_vertex[v], static_cast<uint32_t>(u));
        }
      });
    });
  }
}

// Returns the number of endpoints of all edges, two for each edge, self loops included.
uint64_t CountEndpoints(const graph::SourceGraph& graph) {
  uint64_t endpoints = 0;
  for (const graph::EdgeSet& edges : graph.edges) endpoints += 2 * edges.num_edges();
  return endpoints;
}

std::vector<uint32_t> InvertOrder(const Permutation& order, int threads) {
  std::vector<uint32_t> row_of_vertex(order.size());
  ParallelFor(threads, static_cast<int64_t>(order.size()), kCheapGrain, [&](int64_t begin, int64_t end) {
    for (auto row = static_cast<uint64_t>(begin); row < static_cast<uint64_t>(end); ++row) {
      row_of_vertex[order.At(row)] = static_cast<uint32_t>(row);
    }
  });
  return row_of_vertex;
}

// Sorts rows and finds out whether all neighbors occur equally often in their rows. Thread-safe.
class RepetitionFinder {
 public:
  // Returns whether two neighbors that do not occur equally often have been found.
  bool counts_differ() const { return seen_.load(std::memory_order_relaxed) == kSeveralSeen; }

  // Sorts one row and takes its neighbors into account.
  void SortRow(std::span<uint32_t> row) {
    std::sort(row.begin(), row.end());
    for (size_t k = 0; k < row.size() && !counts_differ();) {
      size_t end = k + 1;
      while (end < row.size() && row[end] == row[k]) ++end;
      Combine(static_cast<uint32_t>(end - k));
      k = end;
    }
  }

  // Returns how often each neighbor occurs, or 1 if the numbers differ.
  uint32_t Common() const {
    const uint32_t seen = seen_.load();
    return seen == kNoneSeen || seen == kSeveralSeen ? 1 : seen;
  }

 private:
  void Combine(uint32_t repetitions) {
    uint32_t seen = seen_.load(std::memory_order_relaxed);
    while (seen != repetitions && seen != kSeveralSeen) {
      const uint32_t next = seen == kNoneSeen ? repetitions : kSeveralSeen;
      if (seen_.compare_exchange_weak(seen, next)) return;
    }
  }

  std::atomic<uint32_t> seen_ = kNoneSeen;
};

// Returns the end of the chunk that begins at row `first`. The chunk has as many rows as possible with at most
// `max_neighbors` neighbors in total.
uint64_t FindChunkEnd(const std::vector<uint64_t>& offsets, uint64_t first, uint64_t max_neighbors) {
  if (offsets.back() - offsets[first] <= max_neighbors) return offsets.size() - 1;
  const auto beyond =
      std::upper_bound(offsets.begin() + static_cast<int64_t>(first), offsets.end(), offsets[first] + max_neighbors);
  return static_cast<uint64_t>(beyond - offsets.begin()) - 1;
}

}  // namespace

Result<StreamRows> StreamRows::Build(const graph::SourceGraph& graph, const Permutation& order,
                                     const StreamRowsOptions& options) {
  const uint64_t num_rows = order.size();
  StreamRows rows;
  std::span<uint32_t> file;
  if (const uint64_t num_endpoints = CountEndpoints(graph); num_endpoints > options.max_neighbors_in_memory) {
    ASSIGN_OR_RETURN(ScratchSpace space, options.make_scratch(num_endpoints * sizeof(uint32_t)));
    // Mapped memory is aligned, and the file contains nothing but neighbors, uint32_t each.
    file = {reinterpret_cast<uint32_t*>(space.bytes.data()), num_endpoints};
    rows.owner_ = std::move(space.owner);
  }
  const std::vector<uint32_t> row_of_vertex = InvertOrder(order, options.threads);
  std::vector<uint64_t>& offsets = rows.offsets_;
  offsets.assign(num_rows + 1, 0);
  ForEndpoints(graph, row_of_vertex, options.threads, [&](uint32_t row, uint32_t) {
    std::atomic_ref<uint64_t>(offsets[uint64_t{row} + 1]).fetch_add(1, std::memory_order_relaxed);
  });
  uint64_t largest_row = 0;
  for (uint64_t row = 0; row < num_rows; ++row) {
    largest_row = std::max(largest_row, offsets[row + 1]);
    offsets[row + 1] += offsets[row];
  }
  if (largest_row > options.max_neighbors_in_memory) {
    return InvalidArgument("a node has " + std::to_string(largest_row) + " neighbors, more than the " +
                           std::to_string(options.max_neighbors_in_memory) +
                           " that fit into the memory of the partitioner: give it more memory");
  }

  const uint64_t num_neighbors = offsets.back();
  RepetitionFinder repetitions;
  std::vector<uint32_t>& chunk = rows.in_memory_;
  chunk.reserve(std::min(num_neighbors, options.max_neighbors_in_memory));
  for (uint64_t first = 0; first < num_rows;) {
    const uint64_t end = FindChunkEnd(offsets, first, options.max_neighbors_in_memory);
    const uint64_t base = offsets[first];
    chunk.resize(offsets[end] - base);
    // A row's offset serves as its write cursor and ends as the next row's offset. Shifting by one restores them.
    ForEndpoints(graph, row_of_vertex, options.threads, [&](uint32_t row, uint32_t neighbor) {
      if (row - first >= end - first) return;  // wraps around if row < first
      const std::atomic_ref<uint64_t> cursor(offsets[row]);
      chunk[cursor.fetch_add(1, std::memory_order_relaxed) - base] = neighbor;
    });
    std::copy_backward(offsets.begin() + static_cast<int64_t>(first), offsets.begin() + static_cast<int64_t>(end) - 1,
                       offsets.begin() + static_cast<int64_t>(end));
    offsets[first] = base;
    ParallelFor(options.threads, static_cast<int64_t>(end - first), kSortGrain, [&](int64_t begin, int64_t last) {
      for (int64_t i = begin; i < last && !repetitions.counts_differ(); ++i) {
        const uint64_t row = first + static_cast<uint64_t>(i);
        repetitions.SortRow(std::span(chunk).subspan(offsets[row] - base, offsets[row + 1] - offsets[row]));
      }
    });
    if (!file.empty()) std::memcpy(file.data() + base, chunk.data(), chunk.size() * sizeof(uint32_t));
    first = end;
  }
  if (!file.empty()) chunk = std::vector<uint32_t>();
  rows.neighbors_ = file.empty() ? std::span<const uint32_t>(chunk) : file.first(num_neighbors);
  rows.repetitions_ = repetitions.Common();
  return rows;
}

}  // namespace espalier::partition
