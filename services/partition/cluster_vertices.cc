// Size-constrained label propagation (Meyerhenke, Sanders, Schulz, "Partitioning complex networks via size-constrained
// clustering", SEA 2014). Every vertex starts as a cluster. In each round it moves to the cluster to which most of its
// edge weight leads, among the clusters that have room for it. Vertices choose in batches (vertex_batches.h), so the
// result does not depend on the number of threads.
//
// Vertices that remain alone in their clusters, such as the leaves of a hub whose cluster is full, would stop the
// coarsening. If the rounds have not shrunk the graph enough, vertices that are alone and prefer the same cluster are
// merged with each other. Vertices without neighbors are always merged with each other.
#include "services/partition/cluster_vertices.h"

#include <numeric>

#include "services/base/hash.h"
#include "services/partition/label_sums.h"
#include "services/partition/scratch_pool.h"
#include "services/partition/vertex_batches.h"

namespace espalier::partition {
namespace {

constexpr int kClusterRounds = 3;
// In the first round nearly all neighbors are in different clusters, so a sample of them suffices.
constexpr uint64_t kFirstRoundNeighbors = 32, kAllNeighbors = ~uint64_t{0};
constexpr size_t kPrefetchDistance = 4;  // vertices

class Clustering {
 public:
  Clustering(const WeightedGraph& graph, const std::vector<int64_t>& limits, uint64_t key, int threads)
      : graph_(graph),
        limits_(limits),
        key_(key),
        threads_(threads),
        labels_(graph.num_vertices()),
        cluster_weights_(graph.vertex_weights) {
    std::iota(labels_.begin(), labels_.end(), uint32_t{0});
  }

  std::vector<uint32_t> Run() {
    const std::vector<uint32_t> order = ShuffledVertices(key_, graph_.num_vertices(), threads_);
    for (int round = 0; round < kClusterRounds; ++round) {
      ForVertexBatches<uint32_t>(
          order, threads_,
          [&](std::span<const uint32_t> vertices, std::span<uint32_t> clusters) {
            Choose(vertices, round == 0 ? kFirstRoundNeighbors : kAllNeighbors, clusters);
          },
          [&](std::span<const uint32_t> vertices, std::span<const uint32_t> clusters) { Apply(vertices, clusters); });
    }
    MergeSingletons();
    return std::move(labels_);
  }

 private:
  int64_t WeightAt(uint64_t vertex, size_t c) const {
    return graph_.vertex_weights[vertex * graph_.num_constraints + c];
  }
  int32_t& ClusterWeight(uint32_t cluster, size_t c) { return cluster_weights_[cluster * graph_.num_constraints + c]; }

  bool Fits(uint64_t vertex, uint32_t cluster) const {
    for (size_t c = 0; c < limits_.size(); ++c) {
      const int64_t weight = WeightAt(vertex, c);
      if (weight > 0 && cluster_weights_[cluster * graph_.num_constraints + c] + weight > limits_[c]) return false;
    }
    return true;
  }

  bool IsEmpty(uint32_t cluster) const {
    for (size_t c = 0; c < limits_.size(); ++c) {
      if (cluster_weights_[cluster * graph_.num_constraints + c] != 0) return false;
    }
    return true;
  }

  // Sums up the edge weights of the vertex by the neighbor's cluster. If the vertex has n >= 2 * `sample` neighbors,
  // counts only every k-th one, where k is n / `sample` rounded down.
  void SumNeighbors(uint64_t vertex, uint64_t sample, LabelSums* sums) const {
    const UndirectedGraph& adjacency = graph_.adjacency;
    const uint64_t begin = adjacency.offsets[vertex], end = adjacency.offsets[vertex + 1];
    const uint64_t step = std::max<uint64_t>((end - begin) / sample, 1);
    sums->Reset((end - begin) / step + 1);
    ForNeighbors(adjacency, vertex, step, labels_,
                 [&](uint32_t neighbor, uint32_t weight) { sums->Add(labels_[neighbor], weight); });
  }

  // Returns a pseudo-random rank of the cluster. Of clusters with equal sums, which are frequent in the first round,
  // the vertex prefers the one with the lowest rank.
  uint64_t TieBreakRank(uint64_t vertex, uint32_t cluster) const { return HashCombine(key_ ^ vertex, cluster); }

  // Returns the cluster with the largest sum among those for which allowed(cluster) is true, or `current` if none of
  // their sums is larger than that of `current`.
  template <class Allowed>
  uint32_t FindHeaviest(const LabelSums& sums, uint64_t vertex, uint32_t current, const Allowed& allowed) const {
    uint32_t best_sum = 0;
    sums.ForEach([&](uint32_t cluster, uint32_t sum) {
      if (cluster == current) best_sum = sum;
    });
    uint32_t best = current;
    sums.ForEach([&](uint32_t cluster, uint32_t sum) {
      if (sum < best_sum || cluster == current || (sum == best_sum && best == current)) return;
      if (sum == best_sum && TieBreakRank(vertex, cluster) > TieBreakRank(vertex, best)) return;
      if (!allowed(cluster)) return;
      best = cluster;
      best_sum = sum;
    });
    return best;
  }

  void Choose(std::span<const uint32_t> vertices, uint64_t sample, std::span<uint32_t> clusters) {
    const auto sums = sums_.Borrow();
    for (size_t i = 0; i < vertices.size(); ++i) {
      if (i + kPrefetchDistance < vertices.size()) PrefetchRow(graph_.adjacency, vertices[i + kPrefetchDistance]);
      if (i + 1 < vertices.size()) PrefetchFirstNeighbors(graph_.adjacency, vertices[i + 1], labels_);
      const uint32_t vertex = vertices[i];
      SumNeighbors(vertex, sample, &*sums);
      clusters[i] =
          FindHeaviest(*sums, vertex, labels_[vertex], [&](uint32_t cluster) { return Fits(vertex, cluster); });
    }
  }

  void Apply(std::span<const uint32_t> vertices, std::span<const uint32_t> clusters) {
    for (size_t i = 0; i < vertices.size(); ++i) {
      const uint32_t vertex = vertices[i], to = clusters[i], from = labels_[vertex];
      // `to` is empty if its last vertex has moved away earlier in this batch, perhaps to `from`.
      if (to == from || IsEmpty(to) || !Fits(vertex, to)) continue;
      for (size_t c = 0; c < limits_.size(); ++c) {
        const auto weight = static_cast<int32_t>(WeightAt(vertex, c));
        ClusterWeight(from, c) -= weight;
        ClusterWeight(to, c) += weight;
      }
      labels_[vertex] = to;
    }
  }

  void MergeSingletons() {
    const uint64_t num_vertices = graph_.num_vertices();
    std::vector<uint32_t> sizes(num_vertices, 0);
    for (const uint32_t label : labels_) ++sizes[label];
    const auto num_clusters =
        static_cast<uint64_t>(std::count_if(sizes.begin(), sizes.end(), [](uint32_t size) { return size > 0; }));
    const bool merge_connected = num_clusters > num_vertices / 2;
    constexpr uint32_t kNone = ~uint32_t{0};
    // By vertex: kNone if it must not be merged, its own label if it has no neighbors, otherwise the cluster that it
    // prefers.
    std::vector<uint32_t> preferred(num_vertices, kNone);
    ParallelFor(threads_, static_cast<int64_t>(num_vertices), int64_t{1} << 10, [&](int64_t begin, int64_t end) {
      const auto sums = sums_.Borrow();
      for (auto vertex = static_cast<uint64_t>(begin); vertex < static_cast<uint64_t>(end); ++vertex) {
        const uint32_t own = labels_[vertex];
        if (sizes[own] != 1) continue;
        const bool is_isolated = graph_.adjacency.offsets[vertex] == graph_.adjacency.offsets[vertex + 1];
        if (!is_isolated && !merge_connected) continue;
        SumNeighbors(vertex, kAllNeighbors, &*sums);
        preferred[vertex] = FindHeaviest(*sums, vertex, own, [](uint32_t) { return true; });
      }
    });
    // open_cluster[c]: the cluster into which the vertices that prefer c are merged at present. The next vertex that
    // does not fit starts a new one. Reuses the memory of `sizes`.
    std::vector<uint32_t>& open_cluster = sizes;
    std::fill(open_cluster.begin(), open_cluster.end(), kNone);
    uint32_t open_isolated = kNone;  // the cluster into which vertices without neighbors are merged at present
    for (uint32_t vertex = 0; vertex < num_vertices; ++vertex) {
      if (preferred[vertex] == kNone) continue;
      const uint32_t own = labels_[vertex];
      uint32_t* const target = preferred[vertex] == own ? &open_isolated : &open_cluster[preferred[vertex]];
      if (*target == kNone || !Fits(vertex, *target)) {
        *target = own;
        continue;
      }
      for (size_t c = 0; c < limits_.size(); ++c) {
        ClusterWeight(*target, c) += static_cast<int32_t>(WeightAt(vertex, c));
        ClusterWeight(own, c) = 0;
      }
      labels_[vertex] = *target;
    }
  }

  const WeightedGraph& graph_;
  const std::vector<int64_t>& limits_;  // by constraint
  const uint64_t key_;
  const int threads_;
  std::vector<uint32_t> labels_;
  std::vector<int32_t> cluster_weights_;  // [labels, constraints]
  ScratchPool<LabelSums> sums_;
};

}  // namespace

std::vector<uint32_t> ClusterVertices(const WeightedGraph& graph, const std::vector<int64_t>& limits, uint64_t key,
                                      int threads) {
  return Clustering(graph, limits, key, threads).Run();
}

}  // namespace espalier::partition
