// Two sequential passes per node type: the first counts the nodes of each partition, the second numbers them in
// original order, so a partition's nodes have contiguous global IDs. One parallel pass per edge type counts out-degrees
// and the edges of each partition; prefix sums of these counts give the ranges of global edge IDs. The counts of
// parts of an edge list can be combined, so several processes can count their parts and build the same layout
// (MakeLayout).
#include "services/partition/partition_layout.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

#include "services/base/parallel.h"
#include "services/graph/id_values.h"
#include "services/partition/id_width.h"
#include "services/partition/input_checks.h"

namespace espalier::partition {
namespace {

// Returns the first global node ID of each partition for one type: [num_partitions + 1].
Result<std::vector<uint64_t>> NodeFirst(const std::vector<uint32_t>& partition_of, uint32_t num_partitions,
                                        const std::string& type_name) {
  std::vector<uint64_t> first(num_partitions + 1, 0);
  for (const uint32_t partition : partition_of) ++first[partition + 1];
  for (uint32_t p = 0; p < num_partitions; ++p) {
    if (first[p + 1] >= kFirst64BitCount) {
      return InvalidArgument("partition " + std::to_string(p) + " would own " + std::to_string(first[p + 1]) +
                             " nodes of type '" + type_name + "', expected fewer than 2^32: use more partitions");
    }
    first[p + 1] += first[p];
  }
  return first;
}

// Returns the global ID of each node: nodes get the IDs of their partition in original order. `next` holds the first ID
// of each partition.
template <class T>
Tensor GlobalIds(const std::vector<uint32_t>& partition_of, std::vector<uint64_t> next) {
  Tensor ids = Tensor::Zeros(DTypeOf<T>::value, {static_cast<int64_t>(partition_of.size())});
  const std::span<T> global_of = ids.mutable_values<T>();
  for (size_t node = 0; node < partition_of.size(); ++node) {
    global_of[node] = static_cast<T>(next[partition_of[node]]++);
  }
  return ids;
}

// Counts the edges. D is the integer type of the out-degrees.
template <class D>
void CountEdgesAs(const graph::EdgeSet& edges, const std::vector<uint32_t>& owner_of_destination,
                  const CountOptions& options, EdgeCounts* counts) {
  std::mutex mutex;  // guards *counts except out_degree
  const std::span<D> out_degree = counts->out_degree.mutable_values<D>();
  const std::span<const uint64_t> original_ids =
      edges.original_ids.empty() ? std::span<const uint64_t>() : edges.original_ids.values<uint64_t>();
  const auto count_range = [&](const auto& sources, const auto& destinations, uint64_t begin, uint64_t end) {
    std::vector<uint64_t> of_partition(options.num_partitions, 0);
    uint64_t max_original_id = 0;
    for (uint64_t edge = begin; edge < end; ++edge) {
      ++of_partition[owner_of_destination[graph::ToId(destinations[edge])]];
      std::atomic_ref<D>(out_degree[graph::ToId(sources[edge])]).fetch_add(1, std::memory_order_relaxed);
      const uint64_t original_id = original_ids.empty() ? options.first_row + edge : original_ids[edge];
      max_original_id = std::max(max_original_id, original_id);
    }
    const std::lock_guard lock(mutex);
    for (uint32_t p = 0; p < options.num_partitions; ++p) counts->of_partition[p] += of_partition[p];
    counts->max_original_id = std::max(counts->max_original_id, max_original_id);
  };
  graph::VisitIds(edges.sources, [&](auto sources) {
    const auto destinations = edges.destinations.values<typename decltype(sources)::value_type>();
    ParallelFor(options.threads, static_cast<int64_t>(edges.num_edges()), kCheapGrain, [&](int64_t begin, int64_t end) {
      count_range(sources, destinations, static_cast<uint64_t>(begin), static_cast<uint64_t>(end));
    });
  });
}

// Returns the first global edge ID of each partition for one type: [num_partitions + 1].
std::vector<uint64_t> EdgeFirst(const std::vector<uint64_t>& of_partition) {
  std::vector<uint64_t> first(of_partition.size() + 1, 0);
  for (size_t p = 0; p < of_partition.size(); ++p) first[p + 1] = first[p] + of_partition[p];
  return first;
}

}  // namespace

Status CheckNodeColumns(const graph::SourceGraph& graph) {
  const auto refuse = [&](NodeTypeId type, const std::string& column) {
    return InvalidArgument("node type '" + graph.schema.NodeTypeName(type) + "' has a column '" + column +
                           "', a name that is reserved for partitions: rename it");
  };
  for (uint16_t type = 0; type < graph.nodes.size(); ++type) {
    if (graph.nodes[type].columns.contains("original_id")) return refuse(NodeTypeId(type), "original_id");
    for (const auto& [name, column] : graph.nodes[type].columns) {
      if (!column.shape().empty() && static_cast<uint64_t>(column.num_rows()) == graph.nodes[type].count) continue;
      return InvalidArgument("column '" + name + "' of node type '" + graph.schema.NodeTypeName(NodeTypeId(type)) +
                             "': expected " + std::to_string(graph.nodes[type].count) + " rows, found " +
                             column.ToString());
    }
  }
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const NodeTypeId source = graph.schema.SourceOf(EdgeTypeId(type));
    const std::string column = OutDegreeColumnName(graph.schema.EdgeType(EdgeTypeId(type)));
    if (graph.nodes_of(source).columns.contains(column)) return refuse(source, column);
  }
  return Status();
}

DType OutDegreeDType(uint64_t num_edges) { return WidthFor(num_edges); }

EdgeCounts CountEdges(const graph::EdgeSet& edges, const std::vector<uint32_t>& owner_of_destination,
                      const CountOptions& options) {
  EdgeCounts counts{.of_partition = std::vector<uint64_t>(options.num_partitions, 0),
                    .max_original_id = 0,
                    .out_degree = Tensor::Zeros(options.out_degree, {static_cast<int64_t>(options.num_source_nodes)})};
  if (options.out_degree == DType::kU32) {
    CountEdgesAs<uint32_t>(edges, owner_of_destination, options, &counts);
  } else {
    CountEdgesAs<uint64_t>(edges, owner_of_destination, options, &counts);
  }
  return counts;
}

Status CheckAssignment(const graph::SourceGraph& graph, const Assignment& assignment, uint32_t num_partitions) {
  if (num_partitions == 0) return InvalidArgument("partitions: expected at least 1, found 0");
  if (assignment.size() != graph.nodes.size()) {
    return InvalidArgument("assignment has " + std::to_string(assignment.size()) + " node types, the graph has " +
                           std::to_string(graph.nodes.size()));
  }
  for (size_t type = 0; type < assignment.size(); ++type) {
    const std::string& type_name = graph.schema.node_types()[type];
    if (assignment[type].size() != graph.nodes[type].count) {
      return InvalidArgument("assignment of node type '" + type_name + "' has " +
                             std::to_string(assignment[type].size()) +
                             " rows, expected one per node: " + std::to_string(graph.nodes[type].count));
    }
    for (size_t node = 0; node < assignment[type].size(); ++node) {
      if (assignment[type][node] >= num_partitions) {
        return InvalidArgument("assignment of node type '" + type_name + "', row " + std::to_string(node) +
                               ": partition " + std::to_string(assignment[type][node]) +
                               " does not exist, expected 0 to " + std::to_string(num_partitions - 1));
      }
    }
  }
  return Status();
}

DirectoryRange DirectoryRangeFor(uint64_t num_nodes, uint32_t num_partitions, PartitionId partition) {
  // Computes floor(n * p / P) without the product n * p, which could overflow.
  const auto start = [&](uint64_t p) {
    return num_nodes / num_partitions * p + num_nodes % num_partitions * p / num_partitions;
  };
  return {start(partition.value), start(uint64_t{partition.value} + 1)};
}

Result<PartitionLayout> MakeLayout(const graph::SourceGraph& graph, const Assignment& assignment,
                                   uint32_t num_partitions, std::vector<EdgeCounts> counts) {
  RETURN_IF_ERROR(CheckAssignment(graph, assignment, num_partitions));
  PartitionLayout layout;
  std::vector<std::vector<uint64_t>> node_first(graph.nodes.size()), edge_first;
  for (size_t type = 0; type < graph.nodes.size(); ++type) {
    ASSIGN_OR_RETURN(node_first[type], NodeFirst(assignment[type], num_partitions, graph.schema.node_types()[type]));
    layout.global_ids.push_back(WidthFor(graph.nodes[type].count) == DType::kU32
                                    ? GlobalIds<uint32_t>(assignment[type], node_first[type])
                                    : GlobalIds<uint64_t>(assignment[type], node_first[type]));
  }
  for (EdgeCounts& of_type : counts) {
    edge_first.push_back(EdgeFirst(of_type.of_partition));
    layout.out_degrees.push_back(std::move(of_type.out_degree));
    layout.original_edge_id_dtypes.push_back(
        of_type.max_original_id <= std::numeric_limits<uint32_t>::max() ? DType::kU32 : DType::kU64);
  }
  ASSIGN_OR_RETURN(layout.book, graph::PartitionBook::Make(graph.schema, std::move(node_first), std::move(edge_first)));
  return layout;
}

Result<PartitionLayout> MakePartitionLayout(const graph::SourceGraph& graph, const Assignment& assignment,
                                            uint32_t num_partitions, int threads) {
  RETURN_IF_ERROR(CheckAssignment(graph, assignment, num_partitions));
  RETURN_IF_ERROR(CheckNodeColumns(graph));
  RETURN_IF_ERROR(CheckEdges(graph, threads));
  RETURN_IF_ERROR(CheckSplits(graph));
  std::vector<EdgeCounts> counts;
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const graph::EdgeSet& edges = graph.edges[type];
    counts.push_back(CountEdges(edges, assignment[graph.schema.DestinationOf(EdgeTypeId(type)).value],
                                {.num_partitions = num_partitions,
                                 .num_source_nodes = graph.nodes_of(graph.schema.SourceOf(EdgeTypeId(type))).count,
                                 .out_degree = OutDegreeDType(edges.num_edges()),
                                 .threads = threads}));
  }
  return MakeLayout(graph, assignment, num_partitions, std::move(counts));
}

}  // namespace espalier::partition
