// Streaming: restreamed linear deterministic greedy (Stanton, Kliot, "Streaming graph partitioning for large
// distributed graphs", KDD 2012; Nishimura, Ugander, "Restreaming graph partitioning", KDD 2013). Nodes are visited in
// a seeded order. Each node goes to the partition with the largest product of the number of its neighbors there and the
// free capacity. In a later pass, neighbors that the pass has not visited yet count in their partitions of the previous
// pass. The neighbors are stored in the order of the visits (stream_rows.h), so every pass reads them from the
// beginning to the end, from memory or from a file. The weights of nodes and the partitions of neighbors (2 bytes each)
// are read at random, and are prefetched. Besides the neighbors, the Streaming partitioner needs O(nodes) memory, and
// it counts edges in 64 bits, so it handles graphs that exceed the limits of METIS.
#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "services/partition/balance.h"
#include "services/partition/input_checks.h"
#include "services/partition/memory_need.h"
#include "services/partition/partitioner.h"
#include "services/partition/restream.h"
#include "services/partition/stream_rows.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partition {
namespace {

constexpr uint64_t kBytesOfNeighbor = sizeof(uint32_t);
constexpr uint64_t kMeteredVertices = 1 << 12;  // vertices between two updates of the meter

constexpr size_t kVerticesAhead = 8;      // distance in vertices at which weights are prefetched
constexpr uint64_t kNeighborsAhead = 64;  // distance in neighbors at which partitions are prefetched

// Returns how many neighbors fit into the memory that the state of the vertices leaves free.
Result<uint64_t> MaxNeighborsInMemory(const graph::SourceGraph& graph, size_t num_constraints,
                                      const PartitionOptions& options) {
  if (options.memory_bytes == 0) return ~uint64_t{0};
  const uint64_t least = LeastStreamingMemory(graph, options);
  if (options.memory_bytes < least) {
    return InvalidArgument("Streaming needs at least " + std::to_string(least) +
                           " bytes of memory for this graph, found " + std::to_string(options.memory_bytes) +
                           ": give it more memory");
  }
  const uint64_t state = FixedStreamingBytes() + VertexFirst(graph).back() * StreamingBytesPerVertex(num_constraints);
  return (options.memory_bytes - state) / kBytesOfNeighbor;
}

// Visits all vertices once.
void RunPass(const StreamRows& rows, const Permutation& order, WorkMeter* meter, Restream* stream) {
  const std::span<const uint32_t> neighbors = rows.neighbors();
  const uint64_t num_vertices = order.size(), repetitions = rows.repetitions();
  std::array<uint64_t, kVerticesAhead> ahead;  // a ring buffer of the next vertices
  for (uint64_t i = 0; i < std::min<uint64_t>(num_vertices, kVerticesAhead); ++i) ahead[i] = order.At(i);
  std::vector<uint32_t> distinct;
  uint64_t prefetched = 0, passed = 0;
  stream->StartPass();
  for (uint64_t i = 0; i < num_vertices; ++i) {
    const uint64_t vertex = ahead[i % kVerticesAhead];
    if (i + kVerticesAhead < num_vertices) {
      ahead[i % kVerticesAhead] = order.At(i + kVerticesAhead);
      stream->PrefetchVertex(ahead[i % kVerticesAhead]);
    }
    const uint64_t begin = rows.offsets()[i], end = rows.offsets()[i + 1];
    for (const uint64_t until = std::min<uint64_t>(end + kNeighborsAhead, neighbors.size()); prefetched < until;) {
      stream->PrefetchNeighbor(neighbors[prefetched++]);
    }
    std::span<const uint32_t> row = neighbors.subspan(begin, end - begin);
    if (repetitions > 1) {
      distinct.clear();
      for (uint64_t k = begin; k < end; k += repetitions) distinct.push_back(neighbors[k]);
      row = distinct;
    }
    stream->Place(vertex, row);
    passed += row.size();
    if (i % kMeteredVertices == 0) AddDone(meter, kBytesOfNeighbor * std::exchange(passed, 0));
  }
  AddDone(meter, kBytesOfNeighbor * passed);
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
    const uint64_t num_vertices = VertexFirst(graph).back();
    ASSIGN_OR_RETURN(const uint64_t max_neighbors, MaxNeighborsInMemory(graph, weights.num_constraints(), options));
    const Permutation order = StreamOrder(options.seed, num_vertices);
    Restream stream(weights, num_vertices, options.num_partitions);
    {
      ASSIGN_OR_RETURN(const StreamRows rows, StreamRows::Build(graph, order,
                                                                {.threads = options.threads,
                                                                 .max_neighbors_in_memory = max_neighbors,
                                                                 .make_scratch = options.make_scratch}));
      AddExpected(options.meter, kRestreamPasses * kBytesOfNeighbor * (rows.neighbors().size() / rows.repetitions()));
      for (int pass = 0; pass < kRestreamPasses; ++pass) RunPass(rows, order, options.meter, &stream);
    }
    return SplitByType(VertexFirst(graph), std::move(stream).TakeResult());
  }
};

}  // namespace

std::unique_ptr<Partitioner> MakeStreamingPartitioner() { return std::make_unique<StreamingPartitioner>(); }

}  // namespace espalier::partition
