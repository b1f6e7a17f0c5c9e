// Streaming: restreamed linear deterministic greedy (Stanton, Kliot, "Streaming graph partitioning for large
// distributed graphs", KDD 2012; Nishimura, Ugander, "Restreaming graph partitioning", KDD 2013). Nodes come by in a
// seeded order; each goes where most of its neighbours are, times the room that is left there. Later passes repeat
// that with the neighbours' places of the pass before. Besides the adjacency its state is O(nodes), and its numbers
// are 64 bits wide: what METIS cannot hold.
#include <algorithm>
#include <cmath>

#include "services/base/permutation.h"
#include "services/partition/balance.h"
#include "services/partition/input_checks.h"
#include "services/partition/partitioner.h"
#include "services/partition/random_streams.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partition {
namespace {

constexpr int kPasses = 6;               // one, and five restreams
constexpr double kCapacitySlack = 1.03;  // the largest partition against the average, METIS's default
constexpr uint32_t kUnplaced = ~uint32_t{0};

// How full the partitions are under every constraint.
class Loads {
 public:
  Loads(const VertexWeights& weights, uint32_t num_partitions)
      : weights_(weights), num_constraints_(weights.num_constraints()), loads_(num_partitions * num_constraints_, 0) {
    for (const uint64_t total : weights.totals) {
      const double average = static_cast<double>(total) / num_partitions;
      capacities_.push_back(std::max(std::floor(average * kCapacitySlack), std::ceil(average)));
    }
  }

  void Clear() { std::fill(loads_.begin(), loads_.end(), 0); }

  void Add(uint64_t vertex, uint32_t partition) {
    for (size_t c = 0; c < num_constraints_; ++c) {
      loads_[partition * num_constraints_ + c] += static_cast<uint64_t>(WeightOf(vertex, c));
    }
  }

  // The fullest constraint that the vertex counts towards, as a fraction of its capacity; `with` the vertex or not.
  double Before(uint64_t vertex, uint32_t partition) const { return Fullest(vertex, partition, 0); }
  double After(uint64_t vertex, uint32_t partition) const { return Fullest(vertex, partition, 1); }

 private:
  int32_t WeightOf(uint64_t vertex, size_t c) const { return weights_.weights[vertex * num_constraints_ + c]; }

  double Fullest(uint64_t vertex, uint32_t partition, int times) const {
    double fullest = 0;
    for (size_t c = 0; c < num_constraints_; ++c) {
      const int32_t weight = WeightOf(vertex, c);
      if (weight == 0) continue;
      const double load = static_cast<double>(loads_[partition * num_constraints_ + c]) + times * weight;
      fullest = std::max(fullest, load / capacities_[c]);
    }
    return fullest;
  }

  const VertexWeights& weights_;  // outlives this
  const size_t num_constraints_;
  std::vector<double> capacities_;  // by constraint
  std::vector<uint64_t> loads_;     // [partition, constraint]
};

// One pass after the other over the same nodes in the same order.
class Stream {
 public:
  Stream(const UndirectedGraph& graph, const VertexWeights& weights, const PartitionOptions& options)
      : graph_(graph),
        num_partitions_(options.num_partitions),
        order_(PartitioningKey(options.seed, RandomStream::kStreamingOrder), graph.num_vertices()),
        loads_(weights, options.num_partitions),
        partition_of_(graph.num_vertices(), kUnplaced),
        affinity_(options.num_partitions, 0) {}

  void Pass() {
    loads_.Clear();
    for (uint64_t i = 0; i < graph_.num_vertices(); ++i) {
      const uint64_t vertex = order_.At(i);
      const uint32_t partition = Choose(vertex);
      partition_of_[vertex] = partition;
      loads_.Add(vertex, partition);
    }
  }

  std::vector<uint32_t> TakeResult() { return std::move(partition_of_); }

 private:
  // Of the partitions with neighbours and room the one with the best score, lower number first; else the emptiest.
  uint32_t Choose(uint64_t vertex) {
    touched_.clear();
    for (uint64_t k = graph_.offsets[vertex]; k < graph_.offsets[vertex + 1]; ++k) {
      const uint32_t partition = partition_of_[graph_.neighbors[k]];
      if (partition == kUnplaced) continue;
      if (affinity_[partition] == 0) touched_.push_back(partition);
      affinity_[partition] += graph_.WeightAt(k);
    }
    uint32_t best = kUnplaced;
    double best_score = 0;
    for (const uint32_t partition : touched_) {
      const double score = static_cast<double>(affinity_[partition]) * (1 - loads_.Before(vertex, partition));
      affinity_[partition] = 0;
      if (loads_.After(vertex, partition) > 1) continue;
      if (score > best_score || (score == best_score && best != kUnplaced && partition < best)) {
        best = partition;
        best_score = score;
      }
    }
    return best == kUnplaced ? Emptiest(vertex) : best;
  }

  uint32_t Emptiest(uint64_t vertex) const {
    uint32_t emptiest = 0;
    double least = loads_.After(vertex, 0);
    for (uint32_t partition = 1; partition < num_partitions_ && least > 0; ++partition) {
      const double after = loads_.After(vertex, partition);
      if (after < least) {
        emptiest = partition;
        least = after;
      }
    }
    return emptiest;
  }

  const UndirectedGraph& graph_;  // outlives this
  const uint32_t num_partitions_;
  const Permutation order_;
  Loads loads_;
  std::vector<uint32_t> partition_of_;
  std::vector<uint64_t> affinity_;  // by partition: edges to the vertex at hand; 0 between vertices
  std::vector<uint32_t> touched_;   // partitions with affinity
};

class StreamingPartitioner final : public Partitioner {
 public:
  const char* name() const override { return "Streaming"; }
  int version() const override { return 1; }

  Result<Assignment> Partition(const graph::SourceGraph& graph, const PartitionOptions& options) const override {
    if (options.num_partitions == 0) return InvalidArgument("partitions: expected at least 1, found 0");
    RETURN_IF_ERROR(CheckEdges(graph, options.threads));
    ASSIGN_OR_RETURN(const VertexWeights weights, MakeVertexWeights(graph, options));
    if (options.num_partitions == 1) {
      const std::vector<uint64_t> vertex_first = VertexFirst(graph);
      return SplitByType(vertex_first, std::vector<uint32_t>(vertex_first.back(), 0));
    }
    ASSIGN_OR_RETURN(const UndirectedGraph undirected, MakeUndirectedGraph(graph, options.threads));
    Stream stream(undirected, weights, options);
    for (int pass = 0; pass < kPasses; ++pass) stream.Pass();
    return SplitByType(VertexFirst(graph), stream.TakeResult());
  }
};

}  // namespace

std::unique_ptr<Partitioner> MakeStreamingPartitioner() { return std::make_unique<StreamingPartitioner>(); }

}  // namespace espalier::partition
