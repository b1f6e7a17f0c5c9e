// The clusters are divided into chunks of consecutive clusters with about equal work. Threads contract the chunks in
// parallel, one chunk per thread at a time. The edges of each cluster are summed up in a
// hash table and stored in arrays of its chunk, which are then copied into the result and freed, one chunk after
// another.
#include "services/partition/weighted_graph.h"

#include <algorithm>
#include <limits>

#include "services/base/parallel.h"
#include "services/partition/label_sums.h"
#include "services/partition/scratch_pool.h"
#include "services/partition/vertex_batches.h"

namespace espalier::partition {
namespace {

constexpr uint64_t kChunkNeighbors = 1 << 20;
constexpr uint64_t kMembersAhead = 4;  // distance in members at which neighbors are prefetched

// The vertices sorted by cluster: those of cluster c are at [first[c], first[c + 1]), ascending.
struct Members {
  std::vector<uint32_t> first;  // [clusters + 1]
  std::vector<uint32_t> vertices;
};

Members SortByCluster(std::span<const uint32_t> cluster_of, uint32_t num_clusters) {
  Members members{.first = std::vector<uint32_t>(uint64_t{num_clusters} + 1, 0),
                  .vertices = std::vector<uint32_t>(cluster_of.size())};
  for (const uint32_t cluster : cluster_of) ++members.first[cluster + uint64_t{1}];
  for (size_t c = 1; c < members.first.size(); ++c) members.first[c] += members.first[c - 1];
  std::vector<uint32_t> next(members.first.begin(), members.first.end() - 1);
  for (size_t vertex = 0; vertex < cluster_of.size(); ++vertex) {
    members.vertices[next[cluster_of[vertex]]++] = static_cast<uint32_t>(vertex);
  }
  return members;
}

// Some consecutive clusters and their edges.
struct Chunk {
  uint32_t begin = 0, end = 0;      // clusters
  std::vector<uint32_t> neighbors;  // by cluster, one after another
  std::vector<uint32_t> weights;    // [neighbors]
};

std::vector<Chunk> MakeChunks(const UndirectedGraph& adjacency, const Members& members, uint32_t num_clusters) {
  std::vector<Chunk> chunks;
  uint64_t neighbors = 0;
  uint32_t begin = 0;
  for (uint32_t cluster = 0; cluster < num_clusters; ++cluster) {
    for (uint64_t i = members.first[cluster]; i < members.first[cluster + uint64_t{1}]; ++i) {
      const uint64_t vertex = members.vertices[i];
      neighbors += adjacency.offsets[vertex + 1] - adjacency.offsets[vertex];
    }
    if (neighbors < kChunkNeighbors && cluster + 1 < num_clusters) continue;
    chunks.push_back({.begin = begin, .end = cluster + 1});
    begin = cluster + 1;
    neighbors = 0;
  }
  return chunks;
}

class Contraction {
 public:
  Contraction(const WeightedGraph& graph, std::span<const uint32_t> cluster_of, uint32_t num_clusters, int threads)
      : graph_(graph),
        cluster_of_(cluster_of),
        members_(SortByCluster(cluster_of, num_clusters)),
        chunks_(MakeChunks(graph.adjacency, members_, num_clusters)),
        threads_(threads) {
    coarse_.num_constraints = graph.num_constraints;
    coarse_.adjacency.offsets.assign(uint64_t{num_clusters} + 1, 0);
    coarse_.vertex_weights.assign(num_clusters * graph.num_constraints, 0);
  }

  WeightedGraph Run() {
    const auto num_chunks = static_cast<int64_t>(chunks_.size());
    ParallelFor(threads_, num_chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) SumUp(&chunks_[static_cast<size_t>(i)]);
    });
    UndirectedGraph& adjacency = coarse_.adjacency;
    for (size_t c = 1; c < adjacency.offsets.size(); ++c) adjacency.offsets[c] += adjacency.offsets[c - 1];
    adjacency.neighbors.reserve(adjacency.offsets.back());
    adjacency.weights.reserve(adjacency.offsets.back());
    for (Chunk& chunk : chunks_) {
      adjacency.neighbors.insert(adjacency.neighbors.end(), chunk.neighbors.begin(), chunk.neighbors.end());
      adjacency.weights.insert(adjacency.weights.end(), chunk.weights.begin(), chunk.weights.end());
      chunk = {};
    }
    return std::move(coarse_);
  }

 private:
  void SumUp(Chunk* chunk) {
    const auto sums = sums_.Borrow();
    for (uint32_t cluster = chunk->begin; cluster < chunk->end; ++cluster) {
      SumEdges(cluster, &*sums);
      sums->ForEach([&](uint32_t neighbor, uint32_t weight) {
        if (neighbor == cluster) return;
        chunk->neighbors.push_back(neighbor);
        chunk->weights.push_back(weight);
        ++coarse_.adjacency.offsets[cluster + uint64_t{1}];
      });
      for (const uint32_t vertex : MembersAt(cluster)) AddWeights(vertex, cluster);
    }
    chunk->neighbors.shrink_to_fit();
    chunk->weights.shrink_to_fit();
  }

  std::span<const uint32_t> MembersAt(uint64_t cluster) const {
    return std::span(members_.vertices)
        .subspan(members_.first[cluster], members_.first[cluster + 1] - members_.first[cluster]);
  }

  void SumEdges(uint32_t cluster, LabelSums* sums) const {
    const UndirectedGraph& adjacency = graph_.adjacency;
    uint64_t most = 0;
    for (const uint64_t vertex : MembersAt(cluster)) most += adjacency.offsets[vertex + 1] - adjacency.offsets[vertex];
    sums->Reset(std::min(most, coarse_.adjacency.num_vertices()));
    const uint64_t first = members_.first[cluster], last = members_.first[cluster + uint64_t{1}];
    for (uint64_t i = first; i < last; ++i) {
      if (i + kMembersAhead < members_.vertices.size()) {
        PrefetchRow(adjacency, members_.vertices[i + kMembersAhead]);
      }
      ForNeighbors(adjacency, members_.vertices[i], /*step=*/1, cluster_of_,
                   [&](uint32_t neighbor, uint32_t weight) { sums->Add(cluster_of_[neighbor], weight); });
    }
  }

  void AddWeights(uint64_t vertex, uint64_t cluster) {
    for (size_t c = 0; c < graph_.num_constraints; ++c) {
      int32_t& sum = coarse_.vertex_weights[cluster * graph_.num_constraints + c];
      const int64_t exact = int64_t{sum} + graph_.vertex_weights[vertex * graph_.num_constraints + c];
      sum = static_cast<int32_t>(std::min<int64_t>(exact, std::numeric_limits<int32_t>::max()));
    }
  }

  const WeightedGraph& graph_;
  const std::span<const uint32_t> cluster_of_;
  const Members members_;
  std::vector<Chunk> chunks_;
  const int threads_;
  WeightedGraph coarse_;
  ScratchPool<LabelSums> sums_;
};

}  // namespace

uint32_t NumberClusters(std::vector<uint32_t>* labels) {
  std::vector<uint32_t> numbers(labels->size(), 0);
  for (const uint32_t label : *labels) numbers[label] = 1;
  uint32_t count = 0;
  for (uint32_t& number : numbers) {
    if (number != 0) number = count++;
  }
  for (uint32_t& label : *labels) label = numbers[label];
  return count;
}

WeightedGraph Contract(const WeightedGraph& graph, std::span<const uint32_t> cluster_of, uint32_t num_clusters,
                       int threads) {
  return Contraction(graph, cluster_of, num_clusters, threads).Run();
}

}  // namespace espalier::partition
