// Multilevel: size-constrained label propagation on every level of a hierarchy of graphs (Meyerhenke, Sanders, Schulz,
// "Partitioning complex networks via size-constrained clustering", SEA 2014; Gottesbueren et al., "Deep multilevel
// graph partitioning", ESA 2021). Clusters of vertices are contracted level by level until the graph is small. METIS
// cuts the smallest graph. Its partitions are carried back level by level, and on each level single vertices move to
// cut fewer edges. Compared with METIS, which matches pairs of vertices, a level of clusters shrinks a graph with hubs
// several times as much, so there are fewer levels. Loops over the neighbors of a level run in parallel.
//
// On all levels, entries of adjacency lists (two per edge) and total weights are counted in 64 bits, so METIS' limits
// on them apply to the smallest graph alone. Even a graph of few vertices is coarsened while it has more entries than
// METIS can count, unless the coarsening hardly shrinks it any more (kMaxSizeRatio).
#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "services/partition/balance.h"
#include "services/partition/cluster_vertices.h"
#include "services/partition/metis_call.h"
#include "services/partition/partitioner.h"
#include "services/partition/random_streams.h"
#include "services/partition/refine_partitions.h"
#include "services/partition/undirected_graph.h"
#include "services/partition/weighted_graph.h"

namespace espalier::partition {
namespace {

// METIS cuts a graph of at most kSmallGraph vertices, or kSmallGraphPerPartition vertices per partition if that is
// more, unless the coarsening ends earlier (kMaxSizeRatio).
constexpr uint64_t kSmallGraph = 20'000, kSmallGraphPerPartition = 64;
constexpr double kClusterLimit = 0.03;  // largest cluster / average partition
constexpr double kMaxSizeRatio = 0.9;   // vertices of the next level / vertices; a larger ratio ends the coarsening
constexpr uint64_t kMaxMetisTotal = std::numeric_limits<int32_t>::max();

struct Level {
  WeightedGraph graph;
  std::vector<uint32_t> cluster_of;  // vertex -> vertex of the next level; empty at the last level
};

// Divides `count` numbers, every `stride`-th of the array, so that METIS can count their sum. Positive numbers remain
// positive.
template <class Number>
void ScaleForMetis(Number* numbers, size_t count, size_t stride) {
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) total += static_cast<uint64_t>(numbers[i * stride]);
  if (total <= kMaxMetisTotal) return;
  // Rounding up adds at most 1 to each number.
  const uint64_t divisor = total / (kMaxMetisTotal - count) + 1;
  for (size_t i = 0; i < count; ++i) {
    const auto number = static_cast<uint64_t>(numbers[i * stride]);
    numbers[i * stride] = static_cast<Number>((number + divisor - 1) / divisor);
  }
}

class Multilevel {
 public:
  Multilevel(UndirectedGraph undirected, VertexWeights weights, const PartitionOptions& options)
      : options_(options), totals_(std::move(weights.totals)) {
    Level& finest = levels_.emplace_back();
    finest.graph = {.adjacency = std::move(undirected),
                    .num_constraints = totals_.size(),
                    .vertex_weights = std::move(weights.weights)};
  }

  Result<std::vector<uint32_t>> Run() {
    Coarsen();
    ASSIGN_OR_RETURN(std::vector<uint32_t> partition_of, CutSmallest());
    Refine(&partition_of);
    while (levels_.size() > 1) {
      levels_.pop_back();
      const std::vector<uint32_t> cluster_of = std::move(levels_.back().cluster_of);
      std::vector<uint32_t> finer(cluster_of.size());
      for (size_t vertex = 0; vertex < finer.size(); ++vertex) finer[vertex] = partition_of[cluster_of[vertex]];
      partition_of = std::move(finer);
      Refine(&partition_of);
    }
    return partition_of;
  }

 private:
  void Coarsen() {
    const uint64_t small = std::max(kSmallGraph, kSmallGraphPerPartition * options_.num_partitions);
    std::vector<int64_t> limits;
    for (const uint64_t total : totals_) {
      const double limit = kClusterLimit * static_cast<double>(total) / options_.num_partitions;
      limits.push_back(static_cast<int64_t>(std::clamp(limit, 1.0, double{kMaxMetisTotal})));
    }
    while (levels_.back().graph.num_vertices() > small ||
           levels_.back().graph.adjacency.neighbors.size() > kMaxMetisTotal) {
      Level& level = levels_.back();
      std::vector<uint32_t> cluster_of = ClusterVertices(
          level.graph, limits, PartitioningKey(options_.seed, RandomStream::kClusterOrder, levels_.size()),
          options_.threads);
      const uint32_t num_clusters = NumberClusters(&cluster_of);
      if (num_clusters > kMaxSizeRatio * static_cast<double>(level.graph.num_vertices())) return;
      WeightedGraph coarse = Contract(level.graph, cluster_of, num_clusters, options_.threads);
      level.cluster_of = std::move(cluster_of);
      levels_.push_back({.graph = std::move(coarse)});
    }
  }

  Result<std::vector<uint32_t>> CutSmallest() {
    const uint64_t num_neighbors = levels_.back().graph.adjacency.neighbors.size();
    const uint64_t num_weights = levels_.back().graph.vertex_weights.size();
    // Scaling keeps positive weights positive, so their number has to be below the limit of the total.
    if (std::max(num_neighbors, num_weights) >= kMaxMetisTotal) {
      return InvalidArgument("METIS cuts the coarsest graph of Multilevel and counts in 32 bits: that graph has " +
                             std::to_string(num_neighbors) + " entries of adjacency lists (two per edge) and " +
                             std::to_string(num_weights) + " weights of nodes, expected fewer than " +
                             std::to_string(kMaxMetisTotal) + " of each: use the algorithm Streaming");
    }
    WeightedGraph smallest = levels_.back().graph;
    for (size_t c = 0; c < totals_.size(); ++c) {
      ScaleForMetis(smallest.vertex_weights.data() + c, smallest.num_vertices(), totals_.size());
    }
    ScaleForMetis(smallest.adjacency.weights.data(), smallest.adjacency.weights.size(), 1);
    VertexWeights weights;
    weights.names.resize(totals_.size());
    weights.weights = std::move(smallest.vertex_weights);
    PartitionOptions options = options_;
    options.objective = Objective::kEdgeCut;
    return CallMetis(std::move(smallest.adjacency), std::move(weights), options);
  }

  void Refine(std::vector<uint32_t>* partition_of) {
    RefinePartitions(
        levels_.back().graph, PartitionCapacities(totals_, options_.num_partitions), options_.num_partitions,
        PartitioningKey(options_.seed, RandomStream::kRefineOrder, levels_.size()), options_.threads, partition_of);
  }

  const PartitionOptions& options_;
  const std::vector<uint64_t> totals_;  // by constraint
  std::vector<Level> levels_;           // from fine to coarse
};

class MultilevelPartitioner final : public Partitioner {
 public:
  const char* name() const override { return "Multilevel"; }
  int version() const override { return 1; }

  Result<Assignment> Partition(const graph::SourceGraph& graph, const PartitionOptions& options) const override {
    ASSIGN_OR_RETURN(std::optional<Assignment> uncut, AssignWithoutCut(graph, options));
    if (uncut.has_value()) return *std::move(uncut);
    const std::vector<uint64_t> vertex_first = VertexFirst(graph);
    const uint64_t num_vertices = vertex_first.back();
    RETURN_IF_ERROR(CheckNumVertices(num_vertices));
    ASSIGN_OR_RETURN(VertexWeights weights, MakeVertexWeights(graph, options));
    ASSIGN_OR_RETURN(UndirectedGraph undirected, MakeUndirectedGraph(graph, options.threads));
    Multilevel multilevel(std::move(undirected), std::move(weights), options);
    ASSIGN_OR_RETURN(const std::vector<uint32_t> partition_of, multilevel.Run());
    return SplitByType(vertex_first, partition_of);
  }
};

}  // namespace

std::unique_ptr<Partitioner> MakeMultilevelPartitioner() { return std::make_unique<MultilevelPartitioner>(); }

}  // namespace espalier::partition
