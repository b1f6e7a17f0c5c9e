#include "services/benchmarks/bench_graph.h"

#include <algorithm>
#include <cstdio>

#include "services/base/philox.h"
#include "services/graph/generators.h"
#include "services/partition/build_partition.h"
#include "services/partition/partitioner.h"
#include "services/shard/local_graph.h"

namespace espalier::benchmarks {
namespace {

template <class T>
T OrDie(Result<T> result) {
  ESPALIER_CHECK(result.ok()) << result.status().ToString();
  return *std::move(result);
}

graph::SourceGraph Generate(const BenchGraphOptions& options) {
  graph::PowerLawOptions shape = graph::ProductsShaped();
  shape.num_nodes = static_cast<uint64_t>(static_cast<double>(shape.num_nodes) * options.scale);
  shape.num_edges = static_cast<uint64_t>(static_cast<double>(shape.num_edges) * options.scale);
  shape.community_size = std::min(shape.community_size, std::max<uint64_t>(1, shape.num_nodes / 4));
  shape.features.width = options.feature_width;
  shape.edge_weights = options.edge_weights;
  shape.seed = options.seed;
  graph::SourceGraph source = OrDie(graph::GeneratePowerLawGraph(shape, options.threads));
  if (options.num_times > 0) {
    std::vector<uint16_t> times(source.edges[0].num_edges());
    PhiloxStream random(options.seed, /*stream=*/1);
    for (uint16_t& time : times) time = static_cast<uint16_t>(random.NextBelow(options.num_times));
    source.edges[0].columns[kTimeColumn] = Tensor::FromVector(std::move(times));
  }
  return source;
}

}  // namespace

BenchGraph MakeBenchGraph(const BenchGraphOptions& options) {
  Timer timer;
  partition::PartitionSet set;
  {
    const graph::SourceGraph source = Generate(options);
    std::printf("generated %lu nodes, %lu edges in %.1f s\n", static_cast<unsigned long>(source.nodes[0].count),
                static_cast<unsigned long>(source.edges[0].num_edges()), timer.Seconds());
    timer = Timer();
    const partition::PartitionOptions cut{.num_partitions = options.num_partitions, .seed = options.seed};
    const partition::Assignment assignment = OrDie(partition::MakeRandomPartitioner()->Partition(source, cut));
    partition::BuildOptions build{.threads = options.threads};
    if (options.num_times > 0) build.time_column = kTimeColumn;
    if (options.source_ids) build.source_columns = {sampler::kOriginalIdColumn};
    set = OrDie(partition::BuildAllPartitions(source, assignment, options.num_partitions, build));
  }
  sampler::GraphDescription description = OrDie(shard::DescribePartitions(set.book, set.partitions));
  BenchGraph bench;
  for (graph::Partition& partition : set.partitions) {
    partition.original_edge_ids.clear();  // as in a shard that is loaded without them
    bench.shards.push_back(OrDie(shard::GraphShard::Make(set.book, std::move(partition))));
  }
  std::printf("built %u partitions in %.1f s\n", options.num_partitions, timer.Seconds());
  const std::vector<std::shared_ptr<sampler::PartitionAccess>> access(bench.shards.begin(), bench.shards.end());
  bench.graph = std::make_unique<sampler::PartitionedGraph>(std::move(description), access);
  return bench;
}

}  // namespace espalier::benchmarks
