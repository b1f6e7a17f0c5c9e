// Random: assigns the nodes of each type to partitions round-robin in the order of a seeded permutation, so that
// partitions differ by at most one node of a type. It is the cheapest balanced partitioner and the baseline for the
// edge cuts of the other partitioners.
#include "services/base/hash.h"
#include "services/base/parallel.h"
#include "services/base/permutation.h"
#include "services/base/random_purpose.h"
#include "services/partition/input_checks.h"
#include "services/partition/partitioner.h"
#include "services/partition/random_streams.h"

namespace espalier::partition {
namespace {

class RandomPartitioner final : public Partitioner {
 public:
  const char* name() const override { return "Random"; }
  int version() const override { return 1; }

  Result<Assignment> Partition(const graph::SourceGraph& graph, const PartitionOptions& options) const override {
    RETURN_IF_ERROR(CheckNumPartitions(graph, options.num_partitions));
    Assignment assignment(graph.nodes.size());
    for (size_t type = 0; type < graph.nodes.size(); ++type) {
      const uint64_t count = graph.nodes[type].count;
      const Permutation order(
          PartitioningKey(options.seed, RandomStream::kRandomOrder, Hash64(graph.schema.node_types()[type])), count);
      std::vector<uint32_t>& partition_of = assignment[type];
      partition_of.resize(count);
      ParallelFor(options.threads, static_cast<int64_t>(count), kCheapGrain, [&](int64_t begin, int64_t end) {
        for (auto node = static_cast<uint64_t>(begin); node < static_cast<uint64_t>(end); ++node) {
          partition_of[node] = static_cast<uint32_t>(order.Position(node) % options.num_partitions);
        }
      });
    }
    return assignment;
  }
};

}  // namespace

std::unique_ptr<Partitioner> MakeRandomPartitioner() { return std::make_unique<RandomPartitioner>(); }

}  // namespace espalier::partition
