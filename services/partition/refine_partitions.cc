// Greedy k-way refinement by label propagation. In each round a vertex moves to the partition to which most of its edge
// weight leads, among the partitions that have room for it, if the move makes the cut smaller, or if it leaves the cut
// the same and improves the balance. Vertices choose in batches (vertex_batches.h). Loads are exact when a move is
// applied, so no move in a round exceeds a capacity. From the second round on, only vertices with a neighbor that has
// moved are visited.
//
// METIS may return partitions that exceed a capacity if there are several constraints. Before the rounds, vertices are
// moved out of such a partition: into one that has room or, if there is none, into one that then exceeds a capacity but
// is less full than the vertex's own partition was. Moves that add the least to the cut, per weight moved, come first.
#include "services/partition/refine_partitions.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>

#include "services/partition/scratch_pool.h"
#include "services/partition/vertex_batches.h"

namespace espalier::partition {
namespace {

constexpr double kRefinementSlack = 1.03;  // largest partition / average; the default of METIS
constexpr int kRefineRounds = 6;
constexpr int kBalanceRounds = 16;
constexpr size_t kRefinePrefetchDistance = 4;  // vertices

// The edge weight from one vertex to each partition.
struct Affinities {
  std::vector<uint64_t> to;       // by partition; 0 except for the partitions in `touched`
  std::vector<uint32_t> touched;  // the partitions of the vertex's neighbors
};

struct PartitionMove {
  uint32_t to = 0;   // the vertex's own partition if it stays
  int64_t gain = 0;  // by how much the weight of the cut shrinks
};

// A move of a vertex out of a partition that exceeds a capacity.
struct Relief {
  uint32_t vertex = 0;
  uint32_t to = 0;  // the vertex's own partition if no move relieves it
  // `to` exceeds a capacity after the move, but is then less full than the vertex's own partition was before.
  bool overloads_target = false;
  double gain_per_weight = 0;  // the gain divided by RelievingWeight
};

class Refinement {
 public:
  Refinement(const WeightedGraph& graph, std::span<const int64_t> capacities, uint32_t num_partitions, int threads,
             std::vector<uint32_t>* partition_of)
      : graph_(graph),
        capacities_(capacities),
        num_partitions_(num_partitions),
        threads_(threads),
        partition_of_(*partition_of),
        loads_(num_partitions * capacities.size(), 0) {
    for (uint64_t vertex = 0; vertex < graph.num_vertices(); ++vertex) AddLoad(vertex, partition_of_[vertex], 1);
  }

  void Balance() {
    for (int round = 0; round < kBalanceRounds && AnyIsOverloaded(); ++round) {
      if (!Relieve()) return;
    }
  }

  void Improve(uint64_t key) {
    const std::vector<uint32_t> order = ShuffledVertices(key, graph_.num_vertices(), threads_);
    is_active_.assign(graph_.num_vertices(), 1);
    std::vector<uint32_t> active;
    for (int round = 0; round < kRefineRounds; ++round) {
      active.clear();
      std::copy_if(order.begin(), order.end(), std::back_inserter(active),
                   [&](uint32_t vertex) { return is_active_[vertex] != 0; });
      if (active.empty()) return;
      ForVertexBatches<PartitionMove>(
          active, threads_,
          [&](std::span<const uint32_t> vertices, std::span<PartitionMove> moves) { Choose(vertices, moves); },
          [&](std::span<const uint32_t> vertices, std::span<const PartitionMove> moves) { Apply(vertices, moves); });
    }
  }

 private:
  int64_t WeightAt(uint64_t vertex, size_t c) const { return graph_.vertex_weights[vertex * capacities_.size() + c]; }
  int64_t& Load(uint32_t partition, size_t c) { return loads_[partition * capacities_.size() + c]; }
  int64_t Load(uint32_t partition, size_t c) const { return loads_[partition * capacities_.size() + c]; }

  void AddLoad(uint64_t vertex, uint32_t partition, int64_t times) {
    for (size_t c = 0; c < capacities_.size(); ++c) Load(partition, c) += times * WeightAt(vertex, c);
  }

  // Returns the load of the partition, with the weight of the vertex added `times` times (0 or 1), as a fraction of the
  // capacity: the largest fraction over the constraints under which the vertex has weight.
  double Fullness(uint64_t vertex, uint32_t partition, int64_t times) const {
    double fullest = 0;
    for (size_t c = 0; c < capacities_.size(); ++c) {
      const int64_t weight = WeightAt(vertex, c);
      if (weight == 0) continue;
      fullest = std::max(
          fullest, static_cast<double>(Load(partition, c) + times * weight) / static_cast<double>(capacities_[c]));
    }
    return fullest;
  }

  bool Fits(uint64_t vertex, uint32_t partition) const {
    for (size_t c = 0; c < capacities_.size(); ++c) {
      const int64_t weight = WeightAt(vertex, c);
      if (weight > 0 && Load(partition, c) + weight > capacities_[c]) return false;
    }
    return true;
  }

  bool IsOverloaded(uint32_t partition) const {
    for (size_t c = 0; c < capacities_.size(); ++c) {
      if (Load(partition, c) > capacities_[c]) return true;
    }
    return false;
  }
  bool AnyIsOverloaded() const {
    for (uint32_t partition = 0; partition < num_partitions_; ++partition) {
      if (IsOverloaded(partition)) return true;
    }
    return false;
  }

  void SumNeighbors(uint64_t vertex, Affinities* affinities) const {
    if (affinities->to.empty()) affinities->to.assign(num_partitions_, 0);
    for (const uint32_t partition : affinities->touched) affinities->to[partition] = 0;
    affinities->touched.clear();
    ForNeighbors(graph_.adjacency, vertex, /*step=*/1, partition_of_, [&](uint32_t neighbor, uint32_t weight) {
      const uint32_t partition = partition_of_[neighbor];
      if (affinities->to[partition] == 0) affinities->touched.push_back(partition);
      affinities->to[partition] += weight;
    });
  }

  static int64_t Gain(const Affinities& affinities, uint32_t from, uint32_t to) {
    return static_cast<int64_t>(affinities.to[to]) - static_cast<int64_t>(affinities.to[from]);
  }

  void Choose(std::span<const uint32_t> vertices, std::span<PartitionMove> moves) {
    const auto affinities = affinities_.Borrow();
    for (size_t i = 0; i < vertices.size(); ++i) {
      if (i + kRefinePrefetchDistance < vertices.size()) {
        PrefetchRow(graph_.adjacency, vertices[i + kRefinePrefetchDistance]);
      }
      if (i + 1 < vertices.size()) PrefetchFirstNeighbors(graph_.adjacency, vertices[i + 1], partition_of_);
      const uint32_t vertex = vertices[i], from = partition_of_[vertex];
      is_active_[vertex] = 0;
      SumNeighbors(vertex, &*affinities);
      moves[i] = {.to = from};
      for (const uint32_t to : affinities->touched) {
        const int64_t gain = Gain(*affinities, from, to);
        if (to == from || gain < 0 || gain < moves[i].gain || !Fits(vertex, to)) continue;
        // Among partitions with equal gains, the first one is taken. A move without gain has to improve the balance.
        if (gain == 0 ? moves[i].to != from || !ImprovesBalance(vertex, from, to) : gain == moves[i].gain) continue;
        moves[i] = {.to = to, .gain = gain};
      }
    }
  }

  // Returns whether the move lowers the larger Fullness of the two partitions.
  bool ImprovesBalance(uint64_t vertex, uint32_t from, uint32_t to) const {
    return Fullness(vertex, to, 1) < Fullness(vertex, from, 0);
  }

  void Apply(std::span<const uint32_t> vertices, std::span<const PartitionMove> moves) {
    moved_.clear();
    for (size_t i = 0; i < vertices.size(); ++i) {
      const uint32_t vertex = vertices[i], from = partition_of_[vertex], to = moves[i].to;
      if (to == from || !Fits(vertex, to) || (moves[i].gain == 0 && !ImprovesBalance(vertex, from, to))) continue;
      Move(vertex, to);
      moved_.push_back(vertex);
    }
    ParallelFor(threads_, static_cast<int64_t>(moved_.size()), 64, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        const uint64_t vertex = moved_[i];
        for (uint64_t k = graph_.adjacency.offsets[vertex]; k < graph_.adjacency.offsets[vertex + 1]; ++k) {
          std::atomic_ref<uint8_t>(is_active_[graph_.adjacency.neighbors[k]]).store(1, std::memory_order_relaxed);
        }
      }
    });
  }

  void Move(uint32_t vertex, uint32_t to) {
    AddLoad(vertex, partition_of_[vertex], -1);
    AddLoad(vertex, to, 1);
    partition_of_[vertex] = to;
  }

  // Returns the sum of the vertex's weights under the constraints whose capacities its partition exceeds, each as a
  // fraction of the capacity.
  double RelievingWeight(uint64_t vertex) const {
    double weight = 0;
    for (size_t c = 0; c < capacities_.size(); ++c) {
      if (Load(partition_of_[vertex], c) <= capacities_[c]) continue;
      weight += static_cast<double>(WeightAt(vertex, c)) / static_cast<double>(capacities_[c]);
    }
    return weight;
  }

  // Moves vertices out of overloaded partitions. Returns whether any vertex has moved.
  bool Relieve() {
    std::vector<uint32_t> candidates;
    for (uint32_t vertex = 0; vertex < graph_.num_vertices(); ++vertex) {
      if (RelievingWeight(vertex) > 0) candidates.push_back(vertex);
    }
    std::vector<Relief> reliefs(candidates.size());
    ParallelFor(threads_, static_cast<int64_t>(candidates.size()), 256, [&](int64_t begin, int64_t end) {
      const auto affinities = affinities_.Borrow();
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        reliefs[i] = ChooseRelief(candidates[i], &*affinities);
      }
    });
    std::stable_sort(reliefs.begin(), reliefs.end(),
                     [](const Relief& a, const Relief& b) { return a.gain_per_weight > b.gain_per_weight; });
    bool any_moved = false;
    for (const Relief& relief : reliefs) {
      const uint32_t from = partition_of_[relief.vertex];
      if (relief.to == from || RelievingWeight(relief.vertex) == 0) continue;
      if (!(relief.overloads_target ? ImprovesBalance(relief.vertex, from, relief.to) : Fits(relief.vertex, relief.to)))
        continue;
      Move(relief.vertex, relief.to);
      any_moved = true;
    }
    return any_moved;
  }

  Relief ChooseRelief(uint32_t vertex, Affinities* affinities) const {
    SumNeighbors(vertex, affinities);
    const uint32_t from = partition_of_[vertex];
    Relief best{.vertex = vertex, .to = from, .overloads_target = true};
    int64_t best_gain = 0;
    double best_fullness = 0;
    for (uint32_t to = 0; to < num_partitions_; ++to) {
      const bool overloads_target = !Fits(vertex, to);
      if (to == from || (overloads_target && (!best.overloads_target || !ImprovesBalance(vertex, from, to)))) continue;
      const int64_t gain = Gain(*affinities, from, to);
      const double fullness = Fullness(vertex, to, 1);
      const bool is_better = best.to == from || overloads_target != best.overloads_target || gain > best_gain ||
                             (gain == best_gain && fullness < best_fullness);
      if (!is_better) continue;
      best.to = to;
      best.overloads_target = overloads_target;
      best_gain = gain;
      best_fullness = fullness;
    }
    best.gain_per_weight = static_cast<double>(best_gain) / RelievingWeight(vertex);
    return best;
  }

  const WeightedGraph& graph_;
  const std::span<const int64_t> capacities_;  // by constraint
  const uint32_t num_partitions_;
  const int threads_;
  std::vector<uint32_t>& partition_of_;
  std::vector<int64_t> loads_;      // [partition, constraint]
  std::vector<uint8_t> is_active_;  // by vertex: 0 if no neighbor has moved since the vertex was visited
  std::vector<uint32_t> moved_;
  ScratchPool<Affinities> affinities_;
};

}  // namespace

std::vector<int64_t> PartitionCapacities(std::span<const uint64_t> totals, uint32_t num_partitions) {
  std::vector<int64_t> capacities;
  for (const uint64_t total : totals) {
    const double average = static_cast<double>(total) / num_partitions;
    capacities.push_back(static_cast<int64_t>(std::max(std::floor(average * kRefinementSlack), std::ceil(average))));
  }
  return capacities;
}

void RefinePartitions(const WeightedGraph& graph, std::span<const int64_t> capacities, uint32_t num_partitions,
                      uint64_t key, int threads, std::vector<uint32_t>* partition_of) {
  Refinement refinement(graph, capacities, num_partitions, threads, partition_of);
  refinement.Balance();
  refinement.Improve(key);
}

}  // namespace espalier::partition
