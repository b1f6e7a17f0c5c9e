// Partition 0 gives the description of the graph, with which the descriptions of the other partitions are compared.
#include "services/shard/local_graph.h"

#include <algorithm>

namespace espalier::shard {
namespace {

std::vector<int64_t> RowShape(const Tensor& column) {
  const std::vector<int64_t>& shape = column.shape();
  return {shape.begin() + (shape.empty() ? 0 : 1), shape.end()};
}

// Returns the columns of all node types, including original_id, sorted by (type, name).
std::vector<sampler::ColumnDescription> DescribeColumns(const graph::Partition& partition) {
  std::vector<sampler::ColumnDescription> columns;
  for (uint16_t type = 0; type < partition.nodes.size(); ++type) {
    const size_t first_of_type = columns.size();
    columns.push_back({NodeTypeId(type), sampler::kOriginalIdColumn, DType::kU64, {}});
    for (const auto& [name, tensor] : partition.nodes[type].columns) {
      const auto scales = partition.nodes[type].scales.find(name);
      columns.push_back({NodeTypeId(type), name, tensor.dtype(), RowShape(tensor),
                         scales == partition.nodes[type].scales.end() ? std::vector<float>() : scales->second});
    }
    std::sort(columns.begin() + static_cast<std::ptrdiff_t>(first_of_type), columns.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  }
  return columns;
}

std::vector<sampler::EdgeColumnDescription> DescribeEdgeColumns(const graph::Partition& partition) {
  std::vector<sampler::EdgeColumnDescription> columns;
  for (uint16_t type = 0; type < partition.edge_columns.size(); ++type) {
    for (const auto& [name, tensor] : partition.edge_columns[type]) {
      columns.push_back({EdgeTypeId(type), name, tensor.dtype(), RowShape(tensor)});
    }
  }
  return columns;
}

bool HaveSameColumns(const std::vector<sampler::ColumnDescription>& a,
                     const std::vector<sampler::ColumnDescription>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.node_type == y.node_type && x.name == y.name && x.dtype == y.dtype && x.row_shape == y.row_shape &&
           x.scales == y.scales;
  });
}

std::vector<sampler::GraphDescription::SplitCount> CountSplits(const graph::Partition& partition) {
  std::vector<sampler::GraphDescription::SplitCount> counts;
  for (const auto& [split, by_type] : partition.splits) {
    for (const auto& [type, parts] : by_type) {
      if (parts.size() != 3) continue;  // GraphShard::Make reports the error
      counts.push_back({NodeTypeId(type), split, parts[0].total, parts[1].total, parts[2].total});
    }
  }
  return counts;
}

bool HaveSameSplits(const std::vector<sampler::GraphDescription::SplitCount>& a,
                    const std::vector<sampler::GraphDescription::SplitCount>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.node_type == y.node_type && x.split == y.split && x.train == y.train && x.validation == y.validation &&
           x.test == y.test;
  });
}

std::vector<sampler::GraphDescription::EdgeSplitCount> CountEdgeSplits(const graph::Partition& partition) {
  std::vector<sampler::GraphDescription::EdgeSplitCount> counts;
  for (const auto& [split, by_type] : partition.edge_splits) {
    for (const auto& [type, parts] : by_type) {
      if (parts.size() != 3) continue;  // GraphShard::Make reports the error
      counts.push_back({EdgeTypeId(type), split, parts[0].total, parts[1].total, parts[2].total});
    }
  }
  return counts;
}

bool HaveSameEdgeSplits(const std::vector<sampler::GraphDescription::EdgeSplitCount>& a,
                        const std::vector<sampler::GraphDescription::EdgeSplitCount>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.edge_type == y.edge_type && x.split == y.split && x.train == y.train && x.validation == y.validation &&
           x.test == y.test;
  });
}

}  // namespace

Result<sampler::GraphDescription> DescribePartitions(const graph::PartitionBook& book,
                                                     const std::vector<graph::Partition>& partitions) {
  if (partitions.empty() || partitions.size() != book.num_partitions()) {
    return InvalidArgument(std::to_string(partitions.size()) + " partitions, but the partition book has " +
                           std::to_string(book.num_partitions()));
  }
  sampler::GraphDescription description{
      .book = book, .columns = DescribeColumns(partitions[0]), .splits = CountSplits(partitions[0])};
  description.edge_splits = CountEdgeSplits(partitions[0]);
  description.edge_columns = DescribeEdgeColumns(partitions[0]);
  for (size_t p = 1; p < partitions.size(); ++p) {
    if (!HaveSameColumns(description.columns, DescribeColumns(partitions[p])) ||
        description.edge_columns != DescribeEdgeColumns(partitions[p])) {
      return DataLoss("partition " + std::to_string(p) + " has other columns than partition 0");
    }
    if (!HaveSameSplits(description.splits, CountSplits(partitions[p])) ||
        !HaveSameEdgeSplits(description.edge_splits, CountEdgeSplits(partitions[p]))) {
      return DataLoss("partition " + std::to_string(p) + " has other splits than partition 0");
    }
  }
  return description;
}

Result<std::unique_ptr<sampler::PartitionedGraph>> OpenLocalGraph(const graph::PartitionBook& book,
                                                                  std::vector<graph::Partition> partitions,
                                                                  ShardLimits limits) {
  ASSIGN_OR_RETURN(sampler::GraphDescription description, DescribePartitions(book, partitions));
  std::vector<std::shared_ptr<sampler::PartitionAccess>> shards;
  for (size_t p = 0; p < partitions.size(); ++p) {
    if (partitions[p].id != PartitionId(static_cast<uint32_t>(p))) {
      return InvalidArgument("partition " + std::to_string(partitions[p].id.value) + " is at index " +
                             std::to_string(p) + ": expected partitions in the order of their ids, from 0");
    }
    ASSIGN_OR_RETURN(std::shared_ptr<GraphShard> shard, GraphShard::Make(book, std::move(partitions[p]), limits));
    shards.push_back(std::move(shard));
  }
  return std::make_unique<sampler::PartitionedGraph>(std::move(description), std::move(shards));
}

}  // namespace espalier::shard
