// The edge cut is counted in one parallel pass over the edges with atomic counters. Replication needs the number of
// distinct remote in-neighbors of each partition, which are counted with a bitmap over all nodes. If the bitmaps of all
// partitions exceed bitmap_bytes, further passes handle the remaining partitions. All counts are sums of integers, so
// the results do not depend on the order of threads.
#include "services/partition/quality.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "services/base/parallel.h"
#include "services/graph/id_values.h"
#include "services/partition/balance.h"
#include "services/partition/input_checks.h"
#include "services/partition/partition_layout.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partition {
namespace {

// Calls body(source vertex, destination's owner) for every edge whose endpoints have different owners.
template <class Body>
void ForCutEdges(const graph::SourceGraph& graph, const Assignment& assignment, int threads, const Body& body) {
  const std::vector<uint64_t> vertex_first = VertexFirst(graph);
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const graph::EdgeSet& edges = graph.edges[type];
    const NodeTypeId source_type = graph.schema.SourceOf(EdgeTypeId(type));
    const std::vector<uint32_t>& owner_of_source = assignment[source_type.value];
    const std::vector<uint32_t>& owner_of_destination = assignment[graph.schema.DestinationOf(EdgeTypeId(type)).value];
    graph::VisitIds(edges.sources, [&](auto sources) {
      const auto destinations = edges.destinations.values<typename decltype(sources)::value_type>();
      ParallelFor(threads, static_cast<int64_t>(edges.num_edges()), kCheapGrain, [&](int64_t begin, int64_t end) {
        for (auto edge = static_cast<size_t>(begin); edge < static_cast<size_t>(end); ++edge) {
          const uint64_t source = graph::ToId(sources[edge]);
          const uint32_t from = owner_of_source[source], to = owner_of_destination[graph::ToId(destinations[edge])];
          if (from != to) body(vertex_first[source_type.value] + source, to);
        }
      });
    });
  }
}

uint64_t CountCutEdges(const graph::SourceGraph& graph, const Assignment& assignment, const QualityOptions& options) {
  // The counters of partitions are on different cache lines, to avoid false sharing.
  constexpr size_t kStride = 8;
  std::vector<uint64_t> cut_into(options.num_partitions * kStride, 0);
  ForCutEdges(graph, assignment, options.threads, [&](uint64_t, uint32_t to) {
    std::atomic_ref<uint64_t>(cut_into[to * kStride]).fetch_add(1, std::memory_order_relaxed);
  });
  uint64_t cut = 0;
  for (const uint64_t count : cut_into) cut += count;
  return cut;
}

// Returns the sum over the partitions of the number of distinct remote in-neighbors. Each pass over the edges fills the
// bitmaps of as many partitions as fit.
uint64_t CountRemoteNeighbors(const graph::SourceGraph& graph, const Assignment& assignment,
                              const QualityOptions& options) {
  const uint64_t words = (VertexFirst(graph).back() + 63) / 64;
  if (words == 0) return 0;
  const auto at_once =
      static_cast<uint32_t>(std::clamp<uint64_t>(options.bitmap_bytes / (words * 8), 1, options.num_partitions));
  uint64_t remote = 0;
  for (uint32_t first = 0; first < options.num_partitions; first += std::min(at_once, options.num_partitions - first)) {
    std::vector<uint64_t> bitmap(words * at_once, 0);
    ForCutEdges(graph, assignment, options.threads, [&](uint64_t source, uint32_t to) {
      if (to - first >= at_once) return;  // wraps around if to < first
      const uint64_t bit = uint64_t{1} << (source % 64);
      const std::atomic_ref<uint64_t> word(bitmap[(to - first) * words + source / 64]);
      if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
    });
    for (const uint64_t word : bitmap) remote += static_cast<uint64_t>(std::popcount(word));
  }
  return remote;
}

// Sets balance[name] to the largest load divided by the average, unless all loads are 0.
void AddBalance(const std::string& name, const std::vector<uint64_t>& load_of_partition, Quality* quality) {
  uint64_t total = 0, largest = 0;
  for (const uint64_t load : load_of_partition) {
    total += load;
    largest = std::max(largest, load);
  }
  if (total == 0) return;
  quality->balance[name] =
      static_cast<double>(largest) * static_cast<double>(load_of_partition.size()) / static_cast<double>(total);
}

// Sets the balance of all quantities. edges_of[p] is the number of in-edges of partition p.
Status AddBalances(const graph::SourceGraph& graph, const Assignment& assignment, const std::vector<uint64_t>& edges_of,
                   const std::string& train_split, Quality* quality) {
  const std::vector<uint64_t> none(edges_of.size(), 0);
  std::vector<uint64_t> all_nodes = none, train_nodes = none;
  for (size_t type = 0; type < assignment.size(); ++type) {
    std::vector<uint64_t> of_type = none;
    for (const uint32_t partition : assignment[type]) ++of_type[partition];
    for (size_t p = 0; p < of_type.size(); ++p) all_nodes[p] += of_type[p];
    if (assignment.size() > 1) AddBalance("nodes:" + graph.schema.node_types()[type], of_type, quality);
  }
  std::vector<std::vector<bool>> seen(assignment.size());
  RETURN_IF_ERROR(ForTrainingNodes(graph, train_split, [&](NodeTypeId type, uint64_t node) {
    seen[type.value].resize(assignment[type.value].size());
    if (seen[type.value][node]) return;
    seen[type.value][node] = true;
    ++train_nodes[assignment[type.value][node]];
  }));
  AddBalance("nodes", all_nodes, quality);
  AddBalance("edges", edges_of, quality);
  AddBalance("train-nodes", train_nodes, quality);
  return Status();
}

std::vector<uint64_t> CountInEdgesByPartition(const graph::SourceGraph& graph, const Assignment& assignment,
                                              const QualityOptions& options) {
  std::vector<uint64_t> edges_of(options.num_partitions, 0);
  const std::vector<uint32_t> in_degrees = CountInEdges(graph, options.threads);
  uint64_t vertex = 0;
  for (const std::vector<uint32_t>& of_type : assignment) {
    for (const uint32_t partition : of_type) edges_of[partition] += in_degrees[vertex++];
  }
  return edges_of;
}

struct Totals {
  std::vector<uint64_t> edges_of;  // by partition
  uint64_t cut_edges = 0;
  uint64_t remote_neighbors = 0;
};

Result<Quality> ToQuality(const graph::SourceGraph& graph, const Assignment& assignment, const Totals& totals,
                          const std::string& train_split) {
  uint64_t num_edges = 0;
  for (const uint64_t edges : totals.edges_of) num_edges += edges;
  const uint64_t num_nodes = VertexFirst(graph).back();
  Quality quality;
  quality.cut_edges = totals.cut_edges;
  if (num_edges > 0) quality.cut_ratio = static_cast<double>(quality.cut_edges) / static_cast<double>(num_edges);
  if (num_nodes > 0) {
    quality.replication = static_cast<double>(num_nodes + totals.remote_neighbors) / static_cast<double>(num_nodes);
  }
  RETURN_IF_ERROR(AddBalances(graph, assignment, totals.edges_of, train_split, &quality));
  return quality;
}

}  // namespace

InEdgeQuality MeasureInEdgeQuality(const graph::SourceGraph& in_edges, const Assignment& assignment,
                                   PartitionId partition, int threads) {
  std::vector<uint64_t> seen((VertexFirst(in_edges).back() + 63) / 64, 0);
  std::atomic<uint64_t> cut_edges{0};
  ForCutEdges(in_edges, assignment, threads, [&](uint64_t source, uint32_t to) {
    ESPALIER_CHECK(to == partition.value) << "partition " << partition.value << " got an in-edge of partition " << to;
    cut_edges.fetch_add(1, std::memory_order_relaxed);
    const uint64_t bit = uint64_t{1} << (source % 64);
    const std::atomic_ref<uint64_t> word(seen[source / 64]);
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  });
  InEdgeQuality quality{.cut_edges = cut_edges.load()};
  for (const graph::EdgeSet& edges : in_edges.edges) quality.edges += edges.num_edges();
  for (const uint64_t word : seen) quality.remote_neighbors += static_cast<uint64_t>(std::popcount(word));
  return quality;
}

Result<Quality> MeasureQuality(const graph::SourceGraph& graph, const Assignment& assignment,
                               const std::vector<InEdgeQuality>& of_partition, const std::string& train_split) {
  RETURN_IF_ERROR(CheckAssignment(graph, assignment, static_cast<uint32_t>(of_partition.size())));
  Totals totals;
  for (const InEdgeQuality& part : of_partition) {
    totals.edges_of.push_back(part.edges);
    totals.cut_edges += part.cut_edges;
    totals.remote_neighbors += part.remote_neighbors;
  }
  return ToQuality(graph, assignment, totals, train_split);
}

Result<Quality> MeasureQuality(const graph::SourceGraph& graph, const Assignment& assignment,
                               const QualityOptions& options) {
  RETURN_IF_ERROR(CheckAssignment(graph, assignment, options.num_partitions));
  RETURN_IF_ERROR(CheckEdges(graph, options.threads));
  const Totals totals{.edges_of = CountInEdgesByPartition(graph, assignment, options),
                      .cut_edges = CountCutEdges(graph, assignment, options),
                      .remote_neighbors = CountRemoteNeighbors(graph, assignment, options)};
  return ToQuality(graph, assignment, totals, options.train_split);
}

}  // namespace espalier::partition
