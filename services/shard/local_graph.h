// A whole graph whose partitions are all in this process: what mapped access and tests use.
#pragma once

#include <memory>
#include <vector>

#include "services/sampler/routing/partitioned_graph.h"
#include "services/shard/graph_shard.h"

namespace espalier::shard {

// What the partitions say about the graph: columns (they must agree on them) and split sizes. DataLoss where they
// do not agree.
Result<sampler::GraphDescription> DescribePartitions(const graph::PartitionBook& book,
                                                     const std::vector<graph::Partition>& partitions);

// partitions[p] is partition p; all of them.
Result<std::unique_ptr<sampler::PartitionedGraph>> OpenLocalGraph(const graph::PartitionBook& book,
                                                                  std::vector<graph::Partition> partitions,
                                                                  ShardLimits limits = {});

}  // namespace espalier::shard
