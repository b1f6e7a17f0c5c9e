// A graph whose partitions are all in this process, for mapped access and tests.
#pragma once

#include <memory>
#include <vector>

#include "services/sampler/routing/partitioned_graph.h"
#include "services/shard/graph_shard.h"

namespace espalier::shard {

// Returns the book, the columns and the sizes of the splits. DataLoss if columns or splits are not the same in all
// partitions; InvalidArgument if the book has another number of partitions.
Result<sampler::GraphDescription> DescribePartitions(const graph::PartitionBook& book,
                                                     const std::vector<graph::Partition>& partitions);

// Returns the graph; partitions[p] is partition p. Errors are those of DescribePartitions and GraphShard::Make, and
// InvalidArgument for another order of partitions.
Result<std::unique_ptr<sampler::PartitionedGraph>> OpenLocalGraph(const graph::PartitionBook& book,
                                                                  std::vector<graph::Partition> partitions,
                                                                  ShardLimits limits = {});

}  // namespace espalier::shard
