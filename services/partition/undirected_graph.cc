// The graph is built as CSR in place. A first pass counts the neighbors of each vertex, a second one writes them with
// atomic cursors in any order. Sorting each vertex's neighbors removes the dependence on the order of threads and puts
// parallel edges next to each other, so a final sequential pass merges them without a copy.
#include "services/partition/undirected_graph.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "services/base/parallel.h"
#include "services/graph/id_values.h"
#include "services/partition/input_checks.h"

namespace espalier::partition {
namespace {

constexpr int64_t kVisitGrain = 1 << 18;
constexpr int64_t kVertexGrain = 1 << 12;
constexpr size_t kFar = 32, kNear = 16;  // edges

// Calls body(u, v) for every edge of every type that is not a self loop; u and v are vertices. Calls far(vertex) and
// near(vertex) for both endpoints of an edge, kFar and kNear edges before body is called for it; they should prefetch
// the memory that body will write. Without these calls, the atomic operations in body would wait for their cache lines
// one after another.
template <class Far, class Near, class Body>
void ForEdges(const graph::SourceGraph& graph, const std::vector<uint64_t>& vertex_first, int threads, const Far& far,
              const Near& near, const Body& body) {
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const graph::EdgeSet& edges = graph.edges[type];
    const uint64_t first_source = vertex_first[graph.schema.SourceOf(EdgeTypeId(type)).value];
    const uint64_t first_destination = vertex_first[graph.schema.DestinationOf(EdgeTypeId(type)).value];
    graph::VisitIds(edges.sources, [&](auto sources) {
      const auto destinations = edges.destinations.values<typename decltype(sources)::value_type>();
      ParallelFor(threads, static_cast<int64_t>(edges.num_edges()), kVisitGrain, [&](int64_t begin, int64_t end) {
        const auto last = static_cast<size_t>(end) - 1;
        for (auto edge = static_cast<size_t>(begin); edge <= last; ++edge) {
          const size_t far_edge = std::min(edge + kFar, last), near_edge = std::min(edge + kNear, last);
          far(first_source + graph::ToId(sources[far_edge]));
          far(first_destination + graph::ToId(destinations[far_edge]));
          near(first_source + graph::ToId(sources[near_edge]));
          near(first_destination + graph::ToId(destinations[near_edge]));
          const uint64_t u = first_source + graph::ToId(sources[edge]),
                         v = first_destination + graph::ToId(destinations[edge]);
          if (u != v) body(u, v);
        }
      });
    });
  }
}

// Returns the offsets of the neighbors, with parallel edges not merged.
std::vector<uint64_t> CountNeighbors(const graph::SourceGraph& graph, const std::vector<uint64_t>& vertex_first,
                                     int threads) {
  std::vector<uint64_t> offsets(vertex_first.back() + 1, 0);
  const auto count_one = [&](uint64_t vertex) {
    std::atomic_ref<uint64_t>(offsets[vertex + 1]).fetch_add(1, std::memory_order_relaxed);
  };
  ForEdges(
      graph, vertex_first, threads, [&](uint64_t vertex) { __builtin_prefetch(&offsets[vertex + 1], /*write=*/1); },
      [](uint64_t) {},
      [&](uint64_t u, uint64_t v) {
        count_one(u);
        count_one(v);
      });
  for (size_t vertex = 1; vertex < offsets.size(); ++vertex) offsets[vertex] += offsets[vertex - 1];
  return offsets;
}

// Returns the graph with parallel edges not merged; the neighbors of each vertex are sorted.
UndirectedGraph MakeUnmerged(const graph::SourceGraph& graph, const std::vector<uint64_t>& vertex_first,
                             std::vector<uint64_t> offsets, int threads) {
  UndirectedGraph all{.offsets = std::move(offsets)};
  all.neighbors.resize(all.offsets.back());
  // A vertex's offset serves as its write cursor and ends as the next vertex's offset. Shifting by one restores them.
  const auto place = [&](uint64_t vertex, uint64_t neighbor) {
    const uint64_t position = std::atomic_ref<uint64_t>(all.offsets[vertex]).fetch_add(1, std::memory_order_relaxed);
    all.neighbors[position] = static_cast<uint32_t>(neighbor);
  };
  ForEdges(
      graph, vertex_first, threads, [&](uint64_t vertex) { __builtin_prefetch(&all.offsets[vertex], /*write=*/1); },
      [&](uint64_t vertex) {
        const uint64_t position = std::atomic_ref<uint64_t>(all.offsets[vertex]).load(std::memory_order_relaxed);
        __builtin_prefetch(all.neighbors.data() + position, /*write=*/1);
      },
      [&](uint64_t u, uint64_t v) {
        place(u, v);
        place(v, u);
      });
  std::copy_backward(all.offsets.begin(), all.offsets.end() - 1, all.offsets.end());
  all.offsets[0] = 0;
  ParallelFor(threads, static_cast<int64_t>(all.num_vertices()), kVertexGrain, [&](int64_t begin, int64_t end) {
    for (auto vertex = static_cast<size_t>(begin); vertex < static_cast<size_t>(end); ++vertex) {
      std::sort(all.neighbors.begin() + static_cast<int64_t>(all.offsets[vertex]),
                all.neighbors.begin() + static_cast<int64_t>(all.offsets[vertex + 1]));
    }
  });
  return all;
}

// Calls body(neighbor, multiplicity) for each run of equal numbers.
template <class Body>
void ForRuns(const uint32_t* begin, const uint32_t* end, const Body& body) {
  while (begin != end) {
    const uint32_t* const next = std::find_if(begin, end, [first = *begin](uint32_t other) { return other != first; });
    body(*begin, static_cast<uint32_t>(next - begin));
    begin = next;
  }
}

// Returns the multiplicity of the neighbors if it is the same for all, otherwise 0. Also 0 if there are no neighbors.
uint32_t FindCommonMultiplicity(const UndirectedGraph& all) {
  uint32_t common = 0;
  bool differs = false;
  for (size_t vertex = 0; vertex < all.num_vertices() && !differs; ++vertex) {
    ForRuns(all.neighbors.data() + all.offsets[vertex], all.neighbors.data() + all.offsets[vertex + 1],
            [&](uint32_t, uint32_t multiplicity) {
              differs |= common != 0 && common != multiplicity;
              common = multiplicity;
            });
  }
  return differs ? 0 : common;
}

// Merges repeated neighbors in place.
void MergeRepetitions(UndirectedGraph* graph) {
  const bool has_weights = FindCommonMultiplicity(*graph) == 0 && !graph->neighbors.empty();
  uint64_t kept = 0, row_begin = 0;
  for (size_t vertex = 0; vertex + 1 < graph->offsets.size(); ++vertex) {
    const uint64_t row_end = graph->offsets[vertex + 1];
    ForRuns(graph->neighbors.data() + row_begin, graph->neighbors.data() + row_end,
            [&](uint32_t neighbor, uint32_t multiplicity) {
              graph->neighbors[kept++] = neighbor;
              if (has_weights) graph->weights.push_back(multiplicity);
            });
    graph->offsets[vertex + 1] = kept;
    row_begin = row_end;
  }
  graph->neighbors.resize(kept);
}

}  // namespace

std::vector<uint64_t> VertexFirst(const graph::SourceGraph& graph) {
  std::vector<uint64_t> first = {0};
  for (const graph::NodeSet& nodes : graph.nodes) first.push_back(first.back() + nodes.count);
  return first;
}

Status CheckNumVertices(uint64_t num_vertices) {
  if (num_vertices < uint64_t{1} << 32) return Status();
  return InvalidArgument("the graph has " + std::to_string(num_vertices) +
                         " nodes, 2^32 or more: use the algorithm Random or External");
}

Result<UndirectedGraph> MakeUndirectedGraph(
    const graph::SourceGraph& graph, int threads,
    const std::function<Status(std::span<const uint64_t> offsets)>& before_neighbors) {
  const std::vector<uint64_t> vertex_first = VertexFirst(graph);
  RETURN_IF_ERROR(CheckNumVertices(vertex_first.back()));
  std::vector<uint64_t> offsets = CountNeighbors(graph, vertex_first, threads);
  if (before_neighbors != nullptr) RETURN_IF_ERROR(before_neighbors(offsets));
  UndirectedGraph merged = MakeUnmerged(graph, vertex_first, std::move(offsets), threads);
  MergeRepetitions(&merged);
  return merged;
}

Result<std::optional<Assignment>> AssignWithoutCut(const graph::SourceGraph& graph, const PartitionOptions& options) {
  RETURN_IF_ERROR(CheckNumPartitions(graph, options.num_partitions));
  RETURN_IF_ERROR(CheckEdges(graph, options.threads));
  const std::vector<uint64_t> vertex_first = VertexFirst(graph);
  const uint64_t num_vertices = vertex_first.back();
  if (num_vertices > options.num_partitions && options.num_partitions != 1) return std::optional<Assignment>();
  std::vector<uint32_t> partition_of(num_vertices);
  for (uint64_t vertex = 0; vertex < num_vertices; ++vertex) {
    partition_of[vertex] = static_cast<uint32_t>(vertex % options.num_partitions);
  }
  return std::optional<Assignment>(SplitByType(vertex_first, partition_of));
}

Assignment SplitByType(const std::vector<uint64_t>& vertex_first, const std::vector<uint32_t>& partition_of_vertex) {
  Assignment assignment;
  for (size_t type = 0; type + 1 < vertex_first.size(); ++type) {
    assignment.emplace_back(partition_of_vertex.begin() + static_cast<int64_t>(vertex_first[type]),
                            partition_of_vertex.begin() + static_cast<int64_t>(vertex_first[type + 1]));
  }
  return assignment;
}

}  // namespace espalier::partition
