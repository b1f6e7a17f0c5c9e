// Streaming: restreamed linear deterministic greedy (Stanton, Kliot, "Streaming graph partitioning for large
// distributed graphs", KDD 2012; Nishimura, Ugander, "Restreaming graph partitioning", KDD 2013). Nodes are visited in
// a seeded order. Each goes to the partition with the largest product of the number of its neighbors there and the
// free capacity.
// Later passes repeat this with the neighbors' partitions of the pass before. Besides the adjacency, its state is
// O(nodes), and its integers have 64 bits, so it handles graphs that exceed the limits of METIS.
#include <algorithm>
#include <span>

#include "services/partition/balance.h"
#include "services/partition/input_checks.h"
#include "services/partition/partitioner.h"
#include "services/partition/restream.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partition {
namespace {

constexpr uint64_t kBytesOfNeighbor = sizeof(uint32_t);
constexpr uint64_t kMeteredVertices = 1 << 12;  // vertices between two updates of the meter

WeightedNeighbors CollectNeighbors(const UndirectedGraph& graph, uint64_t vertex) {
  const uint64_t begin = graph.offsets[vertex], count = graph.offsets[vertex + 1] - begin;
  return {
      .neighbors = std::span(graph.neighbors).subspan(begin, count),
      .weights = graph.weights.empty() ? std::span<const uint32_t>() : std::span(graph.weights).subspan(begin, count)};
}

class StreamingPartitioner final : public Partitioner {
 public:
  const char* name() const override { return "Streaming"; }
  int version() const override { return 1; }

  Result<Assignment> Partition(const graph::SourceGraph& graph, const PartitionOptions& options) const override {
    RETURN_IF_ERROR(CheckNumPartitions(graph, options.num_partitions));
    RETURN_IF_ERROR(CheckEdges(graph, options.threads));
    if (options.num_partitions > 1) RETURN_IF_ERROR(CheckNumVertices(VertexFirst(graph).back()));
    ASSIGN_OR_RETURN(const VertexWeights weights, MakeVertexWeights(graph, options));
    if (options.num_partitions == 1) {
      const std::vector<uint64_t> vertex_first = VertexFirst(graph);
      return SplitByType(vertex_first, std::vector<uint32_t>(vertex_first.back(), 0));
    }
    ASSIGN_OR_RETURN(const UndirectedGraph undirected, MakeUndirectedGraph(graph, options.threads));
    const Permutation order = StreamOrder(options.seed, undirected.num_vertices());
    Restream stream(weights, undirected.num_vertices(), options.num_partitions);
    const uint64_t num_vertices = undirected.num_vertices();
    AddExpected(options.meter, kRestreamPasses * kBytesOfNeighbor * undirected.neighbors.size());
    for (int pass = 0; pass < kRestreamPasses; ++pass) {
      stream.StartPass();
      for (uint64_t i = 0; i < num_vertices;) {
        uint64_t passed = 0;
        for (const uint64_t end = std::min(num_vertices, i + kMeteredVertices); i < end; ++i) {
          const uint64_t vertex = order.At(i);
          const WeightedNeighbors adjacent = CollectNeighbors(undirected, vertex);
          stream.Place(vertex, adjacent);
          passed += adjacent.neighbors.size();
        }
        AddDone(options.meter, kBytesOfNeighbor * passed);
      }
    }
    return SplitByType(VertexFirst(graph), stream.TakeResult());
  }
};

}  // namespace

std::unique_ptr<Partitioner> MakeStreamingPartitioner() { return std::make_unique<StreamingPartitioner>(); }

}  // namespace espalier::partition
