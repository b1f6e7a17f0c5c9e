#include "services/shard/testing/test_graph.h"

#include "services/partition/partitioner.h"

namespace espalier::shard::testing {

graph::SourceGraph PapersAndAuthors(const graph::TypedOptions& options) {
  Result<graph::SourceGraph> graph = graph::GenerateTypedGraph(options, 1);
  ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
  return *std::move(graph);
}

std::vector<graph::Partition> MakeTestPartitions(const graph::SourceGraph& source, uint32_t num_partitions,
                                                 uint64_t seed, graph::PartitionBook* book,
                                                 const partition::BuildOptions& build) {
  const Result<partition::Assignment> assignment =
      partition::MakeRandomPartitioner()->Partition(source, {.num_partitions = num_partitions, .seed = seed});
  ESPALIER_CHECK(assignment.ok()) << assignment.status().ToString();
  Result<partition::PartitionSet> set = partition::BuildAllPartitions(source, *assignment, num_partitions, build);
  ESPALIER_CHECK(set.ok()) << set.status().ToString();
  *book = set->book;
  return std::move(set->partitions);
}

TestGraph MakeTestGraph(const graph::SourceGraph& source, uint32_t num_partitions, uint64_t seed,
                        const partition::BuildOptions& build,
                        const std::shared_ptr<const sampler::RowInitializers>& initializers) {
  TestGraph test;
  std::vector<graph::Partition> partitions = MakeTestPartitions(source, num_partitions, seed, &test.book, build);
  Result<sampler::GraphDescription> description = DescribePartitions(test.book, partitions);
  ESPALIER_CHECK(description.ok()) << description.status().ToString();
  for (graph::Partition& partition : partitions) {
    Result<std::shared_ptr<GraphShard>> shard = GraphShard::Make(test.book, std::move(partition), {}, initializers);
    ESPALIER_CHECK(shard.ok()) << shard.status().ToString();
    test.shards.push_back(*shard);
  }
  const std::vector<std::shared_ptr<sampler::PartitionAccess>> access(test.shards.begin(), test.shards.end());
  test.graph = std::make_unique<sampler::PartitionedGraph>(*std::move(description), access);
  return test;
}

std::vector<uint64_t> OriginalIds(sampler::PartitionedGraph& graph, NodeTypeId type,
                                  const std::vector<GlobalNodeId>& nodes) {
  const Result<Tensor> ids = graph.GatherRows(type, sampler::kOriginalIdColumn, nodes, Soon());
  ESPALIER_CHECK(ids.ok()) << ids.status().ToString();
  const auto values = ids->values<uint64_t>();
  return {values.begin(), values.end()};
}

PortableBatch ToPortable(sampler::PartitionedGraph& graph, const sampler::MiniBatch& batch) {
  PortableBatch portable;
  for (uint16_t type = 0; type < batch.nodes.size(); ++type) {
    portable.nodes.push_back(OriginalIds(graph, NodeTypeId(type), batch.nodes[type]));
  }
  for (const sampler::BatchLayer& layer : batch.layers) {
    portable.layer_counts.push_back(layer.num_inputs);
    portable.layer_counts.push_back(layer.num_outputs);
    for (const sampler::Block& block : layer.blocks) {
      portable.edges.push_back(block.indptr);
      portable.edges.push_back(block.indices);
    }
  }
  return portable;
}

}  // namespace espalier::shard::testing
