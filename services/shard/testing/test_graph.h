// Test fixture: a source graph, partitioned at random and opened in this process.
#pragma once

#include <memory>
#include <vector>

#include "services/base/testing/soon.h"
#include "services/graph/generators.h"
#include "services/graph/source_graph.h"
#include "services/partition/build_partition.h"
#include "services/sampler/batches/mini_batch.h"
#include "services/shard/local_graph.h"

namespace espalier::shard::testing {

// A generated graph of papers and authors.
graph::SourceGraph PapersAndAuthors(const graph::TypedOptions& options);

struct TestGraph {
  graph::PartitionBook book;
  std::vector<std::shared_ptr<GraphShard>> shards;
  std::unique_ptr<sampler::PartitionedGraph> graph;  // over the shards
};

// Aborts the process if the graph cannot be partitioned, which is an error of the test.
TestGraph MakeTestGraph(const graph::SourceGraph& source, uint32_t num_partitions, uint64_t seed,
                        const partition::BuildOptions& build = {},
                        const std::shared_ptr<const sampler::RowInitializers>& initializers = nullptr);

// Returns all partitions of a random cut and sets `*book`.
std::vector<graph::Partition> MakeTestPartitions(const graph::SourceGraph& source, uint32_t num_partitions,
                                                 uint64_t seed, graph::PartitionBook* book,
                                                 const partition::BuildOptions& build = {});

// Returns the original ids of global ids.
std::vector<uint64_t> OriginalIds(sampler::PartitionedGraph& graph, NodeTypeId type,
                                  const std::vector<GlobalNodeId>& nodes);

// A mini-batch in a form that does not depend on the partitioning: nodes by original ids, edges by position.
struct PortableBatch {
  std::vector<std::vector<uint64_t>> nodes;         // by node type
  std::vector<std::vector<uint32_t>> edges;         // by block: indptr, then indices
  std::vector<std::vector<uint32_t>> layer_counts;  // by layer: inputs, then outputs
  friend bool operator==(const PortableBatch&, const PortableBatch&) = default;
};
PortableBatch ToPortable(sampler::PartitionedGraph& graph, const sampler::MiniBatch& batch);

}  // namespace espalier::shard::testing
