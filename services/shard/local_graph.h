// A whole graph whose partitions are all in this process, for mapped access and tests.
#pragma once

#include <memory>
#include <vector>

#include "services/sampler/routing/partitioned_graph.h"
#include "services/shard/graph_shard.h"

namespace espalier::shard {

// Returns the columns, on which the partitions must agree, and the split sizes. DataLoss if they do not agree.
Result<sampler::GraphDescription> DescribePartitions(const graph::PartitionBook& book,
                                                     const std::vector<graph::Partition>& partitions);

// Returns the graph over all of its partitions; partitions[p] is partition p.
Result<std::unique_ptr<sampler::PartitionedGraph>> OpenLocalGraph(const graph::PartitionBook& book,
                                                                  std::vector<graph::Partition> partitions,
                                                                  ShardLimits limits = {});

}  // namespace espalier::shard
